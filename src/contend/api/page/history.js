/** All runs, newest first, with search. Where one is at work the list is soon read again. */

import { api } from "./api.js";
import { el, refill, table } from "./dom.js";
import { problem } from "./problem.js";
import { clock, percent, t, when } from "./words.js";

const PAGE = 20;
const SOON_MILLISECONDS = 3000;
const LATE_MILLISECONDS = 15000;

export function showHistory(main, _rest, query) {
  const list = el("div.card");
  const search = el("input", { type: "search", value: query.get("q") ?? "", "aria-label": t("search_runs"), placeholder: t("search_runs") });
  refill(main, el("div.stack", {}, el("h1", {}, t("history")), search, list));
  let offset = 0;
  const turn = (by) => { offset = Math.max(0, offset + by); runs.look(); };
  const button = (key, by) => el("button", { type: "button", "data-key": key, onclick: () => turn(by) }, t(key));
  const foot = (page) => el("div.row.actions", {}, offset > 0 && button("newer", -PAGE), offset + PAGE < page.total && button("older", PAGE));
  const runs = runList(list, () => api.list(search.value, offset, PAGE), foot);
  let waiting;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { offset = 0; runs.look(); }, 200);
  });
  return () => { clearTimeout(waiting); runs.stop(); };
}

/**
 * Runs in a node, kept as they are: read again and again, sooner while one is at work.
 * @param load gives a page of runs; `foot` what stands below them.
 * @returns `look`, to read them now, and `stop`.
 */
export function runList(node, load, foot) {
  const notice = el("div");
  const content = el("div", {}, el("p.quiet", {}, t("loading")));
  refill(node, notice, content);
  let waiting;
  let looks = 0;
  const act = async (step) => {
    try {
      await step();
      look();
    } catch (error) {
      refill(notice, problem(error));
    }
  };
  const look = async () => {
    clearTimeout(waiting);
    const number = looks += 1;
    let pause = LATE_MILLISECONDS;
    try {
      const page = await load();
      if (number !== looks) return;
      if (page.items.some((run) => LIVE.includes(run.status))) pause = SOON_MILLISECONDS;
      refill(notice);
      refill(content, page.items.length ? runTable(page.items, act) : el("p.quiet", {}, t("no_runs")), foot(page));
    } catch (error) {
      if (number !== looks) return;
      pause = SOON_MILLISECONDS;
      refill(notice, problem(error));
    }
    waiting = setTimeout(look, pause);
  };
  look();
  return { look, stop: () => { looks += 1; clearTimeout(waiting); } };
}

export const LIVE = ["started", "processing"];
const TONES = { completed: "good", failed: "bad", interrupted: "warn", waiting: "warn", processing: "live", started: "live", partial: "warn" };

/** How a run stands, for people: a run that waits for an answer is not one that was stopped. */
export function statusOf(run) {
  if (run.status === "interrupted" && run.waiting) return "waiting";
  return run.outcome === "partial" && run.status === "completed" ? "partial" : run.status;
}

export const statusPill = (status) => el(`span.pill.${TONES[status] ?? "quiet"}`, {}, t(status));

/** What there is to say of a run beside its status: how far it is, what to do, why it failed. */
export function noteOf(run) {
  const status = statusOf(run);
  if (status === "processing") return [progressLine(run.progress), run.estimated_completion_time && t("ends_about", { time: clock(run.estimated_completion_time) })].filter(Boolean).join(" · ");
  if (status === "interrupted") return t(run.outcome ? "note_interrupted" : "note_unbegun");
  if (["started", "waiting"].includes(status)) return t(`note_${status}`);
  return status === "completed" ? "" : run.message;
}

function progressLine(progress) {
  if (!progress?.teams.length) return t("note_opening");
  const done = progress.teams.filter((team) => ["completed", "failed", "timeout"].includes(team.status)).length;
  return done < progress.teams.length ? t("teams_done", { done, n: progress.teams.length }) : t("note_closing");
}

/** Whose report is published, where it is the editor's and nobody's win; "" elsewhere. */
export const outcomeOf = ({ published, published_score: score, winner, best_score: best }) =>
  published === "editor" ? t("published_merge", { score: percent(score), team: winner ?? "", best: percent(best) }) : "";

const address = (run) => `#/run/${encodeURIComponent(run.research_id)}`;

/** What is published scored; of records that do not say whose it is, the best team. */
function scoreOf(run) {
  const score = run.published === "editor" ? run.published_score : run.best_score;
  return score === null || score === undefined ? "" : percent(score);
}

function runTable(runs, act) {
  const heads = [el("th", {}, t("asked")), el("th", {}, t("status")), el("th", {}, t("report_of")), el("th.number", {}, t("score")), el("th", {}, t("begun"))];
  const rows = runs.map((run) => [
    el("td", {}, el("a.folded", { href: address(run), "data-key": run.research_id }, run.theme), el("div.small.quiet", {}, noteOf(run), " ", nextStep(run, act))),
    el("td", {}, statusPill(statusOf(run))),
    el("td", {}, run.published === "editor" ? [t("editors_merge"), el("div.small.quiet", {}, `${t("best_team")}: ${run.winner_team_id} ${percent(run.best_score)}`)] : run.winner_team_id ?? ""),
    el("td.number", {}, scoreOf(run)),
    el("td.small.quiet", {}, when(run.created_at)),
  ]);
  return table(heads, rows, "table.runs");
}

function nextStep(run, act) {
  if (statusOf(run) === "waiting") return el("a", { href: address(run) }, t("decide_now"));
  if (run.status !== "interrupted") return null;
  return el("button.plain", { type: "button", "data-key": `resume ${run.research_id}`, onclick: () => act(() => api.resume(run.research_id)) }, t("resume"));
}
