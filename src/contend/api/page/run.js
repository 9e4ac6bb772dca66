/** One run: watch it, decide what it asks, read its report, see what judges said. */

import { api, follow } from "./api.js";
import { askForm } from "./ask.js";
import { questionForm } from "./decide.js";
import { el, foldButton, refill, table } from "./dom.js";
import { LIVE, noteOf, outcomeOf, statusOf, statusPill } from "./history.js";
import { judgesView } from "./judges.js";
import { player } from "./player.js";
import { drawInto, errorLine, problem } from "./problem.js";
import { apply, lastResearch, nameOf, newRun, partsOf } from "./run_state.js";
import { storyView } from "./story.js";
import { duration, number, percent, shownName, t } from "./words.js";

const LOOK_MILLISECONDS = 4000;
const TABS = ["watch", "read", "judges"];

/** `?show` in the address: a run that is past is shown at a pace that one can follow. */
export function showRun(main, [id, tab = ""], query) {
  const view = new RunView(main, id, tab, query.has("show"));
  return view.open();
}

class RunView {
  constructor(main, id, tab, isShow) {
    this.id = id;
    if (isShow) this.player = player({ show: (events, isAll) => this.show(events, isAll), say: (event) => lineOf(this.run, event), end: () => el("a.button.main", { href: `#/run/${encodeURIComponent(id)}/read` }, t("read_report")) });
    this.tab = TABS.includes(tab) ? tab : "";
    this.run = newRun();
    this.details = null;
    this.head = el("header.stack");
    this.title = el("h1");
    this.facts = el("div.stack");
    this.questionArea = el("div.stack");
    this.tabs = el("div.tabs", { role: "navigation" });
    this.body = el("div");
    this.report = el("div");
    const whole = foldButton(this.title, { more: t("show_all"), less: t("show_less") });
    // The question stays where it is while the facts below it change: a button that is replaced loses a press of Enter.
    refill(this.head, el("div", {}, this.title, whole), this.facts);
    refill(main, this.head, this.questionArea, this.player && this.player.node, this.tabs, this.body);
  }

  open() {
    this.load();
    this.player?.focus();
    const stop = follow(this.id, {
      onEvent: (event) => this.take(event),
      onStatus: () => this.load(),
      onLost: (error) => !error && this.announce(t("connection_lost")),
      onBack: () => this.announce(""),
    });
    this.stop = stop;
    const ticking = setInterval(() => this.isLive() && !this.player && !isPressed() && this.drawHead(), 1000);
    const looking = setInterval(() => LIVE.includes(this.status()) && this.load(), LOOK_MILLISECONDS);
    return () => { stop(); this.player?.stop(); clearInterval(ticking); clearInterval(looking); cancelAnimationFrame(this.frame); };
  }

  /** What the events do not say: status, questions that wait, an estimated end. */
  async load() {
    try {
      this.details = await api.get(this.id);
    } catch (error) {
      if (error.status >= 400 && error.status < 500) this.leave(error);
      return;
    }
    this.draw();
  }

  /** There is no such run here: of another workspace, deleted, or mistyped. */
  leave(error) {
    this.stop();
    this.isGone = true;
    refill(this.head, el("h1", {}, t("not_found")));
    for (const part of [this.questionArea, this.tabs]) refill(part);
    refill(this.body, problem(error), el("p", {}, el("a", { href: "#/history" }, t("all_runs"))));
  }

  /** What had happened up to a place of the run. */
  show(events, isAll) {
    this.isShown = isAll;
    this.run = newRun();
    events.forEach((event) => apply(this.run, event));
    this.drawSoon();
  }

  take(event) {
    if (this.player) {
      this.player.take(event);
      return;
    }
    apply(this.run, event);
    if (event.type === "question_asked") this.load();
    // Past events come all at once: they are drawn together.
    this.drawSoon();
  }

  drawSoon() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  announce(text) {
    document.getElementById("live").textContent = text;
    this.connection = text;
    this.drawHead();
  }

  /** Whether teams are at work in what is drawn. */
  isLive() {
    return this.player ? !this.isShown : LIVE.includes(this.status());
  }

  /** "" until it is known. */
  status() {
    return this.details ? statusOf(this.details) : "";
  }

  draw() {
    if (this.isGone) return;
    if (isPressed()) {
      this.drawSoon();
      return;
    }
    this.drawHead();
    this.drawQuestions();
    this.run.isLive = this.isLive();
    this.run.waitingTeams = new Set(this.details?.questions.map((question) => question.team_id));
    const current = this.tab || (this.details?.has_report ? "read" : "watch");
    refill(this.tabs, TABS.map((tab) => el("a", { href: `#/run/${encodeURIComponent(this.id)}/${tab}`, "aria-current": tab === current ? "page" : null }, t(tab))));
    if (current === "read") this.drawReport();
    else refill(this.body, current === "watch" ? watchView(this.run, this.id) : judgesView(this.run));
  }

  drawHead() {
    if (this.isGone) return;
    const { run, details } = this;
    const theme = run.theme || details?.theme || "";
    document.title = `${theme.slice(0, 60)} · contend`;
    if (this.title.textContent !== theme) {
      this.title.textContent = theme;
      this.title.className = theme.length > 120 ? "long folded" : "";
    }
    refill(this.facts,
      el("div.row", {}, this.player && !this.isShown ? el("span.pill", {}, t("shown")) : details && statusPill(this.status()), el("span.small.quiet.number", {}, this.figures().join(" · ")),
        el("span.row.actions", {}, this.actions())),
      this.connection && el("p.notice.warn", {}, this.connection),
      details && !this.player && el("p.small.quiet", {}, noteOf(details)),
      run.recorded && el("p.notice", {}, `${t("recorded")}${run.recorded}`),
      run.warnings.map((text) => el("p.notice.warn", {}, text)));
  }

  figures() {
    const { run } = this;
    const figures = [];
    if (run.startedAt) {
      const end = this.isLive() && !this.player ? Date.now() : Date.parse(run.lastAt);
      figures.push(t("elapsed", { time: duration((end - Date.parse(run.startedAt) - run.idleMilliseconds) / 1000) }));
    }
    const spent = run.done?.usage ?? run.spent ?? (this.player ? null : this.details?.usage);
    if (spent?.requests) {
      figures.push(t("calls_used", { n: number(spent.requests) }), t("tokens_used", { n: number(spent.input_tokens + spent.output_tokens) }));
      if (spent.cached_tokens) figures.push(t("cached", { share: Math.round((100 * spent.cached_tokens) / Math.max(1, spent.input_tokens)) }));
      if (spent.cost_usd !== null) figures.push(t("cost", { n: spent.cost_usd.toFixed(2) }));
    }
    return figures;
  }

  actions() {
    const status = this.status();
    const button = (key, kind, step) => el(kind, { type: "button", "data-key": key, onclick: () => this.act(step) }, t(key));
    if (this.player && !this.isShown) return null;
    if (this.isLive()) return button("cancel", "button.danger", () => api.cancel(this.id));
    return [
      status === "interrupted" && button("resume", "button.main", () => api.resume(this.id)),
      status === "failed" && el("a.button", { href: `#/?${new URLSearchParams({ theme: this.details.theme })}` }, t("ask_anew")),
      this.details?.has_report && !this.player && el("a.button", { href: `#/run/${encodeURIComponent(this.id)}/watch?show` }, t("show_contest")),
      this.details?.has_report && el("a.button", { href: `#/compare/${encodeURIComponent(this.id)}` }, t("compare")),
      this.details && button("delete", "button.danger", () => this.delete()),
    ];
  }

  async delete() {
    if (!confirm(t("delete_sure"))) return;
    await api.delete(this.id);
    location.hash = "#/history";
  }

  async act(step) {
    try {
      await step();
      this.announce("");
    } catch (error) {
      this.announce(errorLine(error));
    }
    if (location.hash.startsWith("#/run/")) await this.load();
  }

  drawQuestions() {
    const questions = this.details?.questions ?? [];
    const names = questions.map((each) => `${each.id} ${nameOf(this.run, each.team_id)}`).join();
    if (this.status() !== "waiting") {
      this.drawnQuestions = "";
      refill(this.questionArea);
    } else if (names !== this.drawnQuestions) {
      // Drawn once: an event that comes meanwhile takes nothing from what somebody types.
      this.drawnQuestions = names;
      refill(this.questionArea, questionForm(this.run, questions, (answers) => this.answer(answers)));
    }
  }

  async answer(answers) {
    await api.answer(this.id, answers);
    await this.load();
  }

  drawReport() {
    if (!this.details?.has_report) {
      refill(this.body, el("p.quiet", {}, t("no_report")));
      return;
    }
    if (this.drawnReport !== this.details.execution_id) {
      this.drawnReport = this.details.execution_id;
      refill(this.report, el("p.quiet", {}, t("loading")));
      drawInto(this.report, reading().then(({ reportView }) => reportView(this.id)), (view) => [this.changesLink(), view, this.askAgain()]);
    }
    if (!this.report.isConnected) refill(this.body, this.report);
  }

  /** Where the editor's merge was published: the way to what it changed. */
  changesLink() {
    return this.details.published === "editor" && el("p.actions.small", {}, el("a", { href: `#/changes/${encodeURIComponent(this.id)}` }, t("merge_changes")));
  }

  askAgain() {
    return el("section.actions", {}, askForm({ thread: this.id, compact: true }).node);
  }
}

const NAMES = { run_started: "asked", criteria_set: "criteria", search_done: "search", team_started: "begun", round_started: "begun", round_submitted: "submitted", round_scored: "scored", round_judged: "judged", team_done: "done", winner_picked: "best_team", report_merged: "editor", report_published: "published", learned: "learned", run_done: "done" };

/** What has just happened, in a line: who, in which round, what, and what came of it. */
function lineOf(run, event) {
  const name = event.step === "write" && event.iteration > 1 ? "revise" : event.step ?? NAMES[event.type] ?? event.type;
  const result = event.type === "round_judged" ? `${t(event.exit_reason ? "stops" : "another_round")}: ${whyDecided(event)}` : percent(event.score);
  const what = result === "–" ? event.query ?? event.detail ?? "" : result;
  return [nameOf(run, event.team_id), event.round_number && t("round_n", { n: event.round_number }), t(name), what.slice(0, 160)].filter(Boolean).join(" · ");
}

/** What reads Markdown and HTML is as large as all else together: it is fetched when there is something to read. */
export const reading = () => import("./report.js");

/** What is replaced between press and release is not clicked. */
const isPressed = () => document.body.matches(":active");

function watchView(run, id) {
  return el("div.stack", {},
    run.documents && run.documents.read < run.documents.files && el("p.notice", {}, t("documents_read", run.documents)),
    run.filesLeftOut.length > 0 && el("p.notice.warn", {}, t("files_left_out", { files: run.filesLeftOut.join("; ") })),
    Object.entries(run.sourcesOff).map(([source, reason]) => el("p.notice.warn", {}, t("source_off", { source, reason }))),
    el("p.small.quiet", {}, `${t("sources")}: ${run.sources.join(", ")}`, Object.entries(run.leftOut).map(([source, reason]) => ` · ${t("source_off", { source, reason })}`)),
    run.steps.map((step) => el("p.notice", {}, step.reason)),
    leaderboard(run),
    storyView(run),
    el("section.card", { "aria-label": t("teams") }, [...run.teams.values()].map((team) => teamPart(run, team, id))),
    run.merged && mergedPart(run),
    run.learned.map((event) => el("section.card", {}, el("h2", {}, t("learned")), el("p", {}, t("version", { n: event.playbook_version })), el("ul", {}, event.lessons.map((lesson) => el("li", {}, lesson))), el("a", { href: `#/playbook/${encodeURIComponent(event.dataset)}` }, t("playbook")))));
}

function leaderboard(run) {
  const entries = new Map(run.leaderboard.map((entry) => [entry.team_id, entry]));
  const teams = [...run.teams.values()].sort((one, other) => (entries.get(one.id)?.rank ?? 99) - (entries.get(other.id)?.rank ?? 99));
  const last = Math.max(1, ...teams.flatMap((team) => [...team.rounds.keys()]));
  const numbers = Array.from({ length: last }, (_, place) => place + 1);
  const heads = [el("th", {}, t("rank")), el("th", {}, t("team")), el("th", {}, t("best")), numbers.map((n) => el("th.number", {}, t("round_n", { n }))), el("th", {}, t("now"))];
  const rows = teams.map((team) => [
    el("td", {}, entries.get(team.id)?.rank ?? ""),
    el("td", {}, team.name, " ", run.winner === team.id && el("span.pill.good", {}, t(run.published === "editor" ? "best_team" : "winner"))),
    el("td", {}, bar(entries.get(team.id)?.best_score)),
    numbers.map((n) => el("td.number", {}, scoreIn(team.rounds.get(n)))),
    el("td.small.quiet", {}, nowOf(run, team)),
  ]);
  const outcome = outcomeOf({ published: run.published, published_score: run.publishedScore, winner: nameOf(run, run.winner), best_score: run.best });
  return el("section.card", {}, el("h2", {}, t("leaderboard")), outcome && el("p", {}, outcome), table(heads, rows, "table.ranking"));
}

const bar = (score) =>
  score === null || score === undefined ? "" : [el("meter.score", { min: 0, max: 1, value: score }), ` ${percent(score)}`];

const scoreIn = (round) => (round?.scored ? (round.score === null ? t("unscored") : percent(round.score)) : "");

function nowOf(run, team) {
  if (run.waitingTeams.has(team.id)) return t("waiting");
  if (team.status !== "working") return t(team.status === "queued" && !run.isLive ? "not_begun" : team.status);
  const round = [...team.rounds.values()].at(-1);
  const step = round?.now ? `${t("round_n", { n: round.number })} · ${t(round.now)}` : t("working");
  return run.isLive ? step : `${t("interrupted")} · ${step}`;
}

function teamPart(run, team, id) {
  const rounds = [...team.rounds.values()];
  return el("div.team", {},
    el("div.row", {}, el("h2", {}, team.name), el("span.small.quiet", {}, nowOf(run, team))),
    team.error && el("p.notice.bad", {}, team.error),
    rounds.map((round) => roundPart(run, team, round, id, round === rounds.at(-1))));
}

function roundPart(run, team, round, id, isLast) {
  const score = scoreIn(round);
  const loops = Math.max(0, ...round.steps.map((step) => step.iteration));
  const last = lastResearch(round);
  const steps = round.steps.filter((step) => step.step !== "research" || step === last);
  return el("details.round", { "data-key": `${team.id}/${round.number}`, open: isLast },
    el("summary", {}, t("round_n", { n: round.number }), score && ` · ${score}`),
    partsList(partsOf(run, round), last),
    el("ul.steps", {},
      steps.map((step) => stepLine(step, round, id, loops)),
      round.document && stepRow("submitted", [t("characters", { n: number(round.characters) }), " ", draftPart(id, round.document, `${team.id}/${round.number}/submitted`)]),
      round.scored && stepRow("scored", el("span", {}, round.metrics.filter((metric) => metric.applies && metric.weight).map((metric) => `${shownName(metric.name)} ${percent(metric.score)}`).join(" · "))),
      round.judged && stepRow("judged", [el("strong", {}, t(round.judged.exit_reason ? "stops" : "another_round")), " ", whyDecided(round.judged)])));
}

/** Why it goes on and a judge's words, which are in the run's language, or the rule that stopped it. */
function whyDecided(judged) {
  return judged.exit_reason && judged.exit_reason !== "judge" ? t(`why_${judged.exit_reason}`) : judged.reasoning;
}

/** Of each part of the question its state and how many passages count for it; below, what the team holds of how much. */
function partsList(parts, last) {
  if (!parts.length) return null;
  const most = Math.max(FULL_PART, ...parts.map((part) => part.passages.length));
  return el("div.parts", {},
    el("ul", { "aria-label": t("parts") }, parts.map((part) => partLine(part, most))),
    last?.room > 0 && el("p.small.quiet.row", {},
      el("meter", { min: 0, max: last.room, value: last.held_tokens, "aria-hidden": "true" }),
      t("held", { n: number(last.held), tokens: number(last.held_tokens), room: number(last.room) })));
}

/** So many passages fill the bar of a part. */
const FULL_PART = 5;
const PART_TONES = { answered: "good", partly: "warn", not_found: "bad", open: "quiet" };

function partLine({ text, state, passages, missing }, most) {
  const count = t("part_passages", { n: number(passages.length) });
  return el("li", {},
    el("span.state", {}, el(`span.pill.${PART_TONES[state] ?? "quiet"}`, {}, t(`part_${state}`))),
    el("div", {}, text, missing && el("div.small.quiet", {}, t("part_missing", { what: missing }))),
    el("span.fill.small.quiet.number", {}, el("meter", { min: 0, max: most, value: passages.length, "aria-hidden": "true" }), count));
}

const stepRow = (name, content) => el("li", {}, el("span.what", {}, t(name)), el("div", {}, content));

function stepLine(step, round, id, loops) {
  const key = step.step === "write" && step.iteration > 1 ? "revise" : step.step;
  const content = [step.detail === "accepted" ? t("accepted") : step.detail];
  if (step.step === "plan" && step.plan) content.splice(0, 1, planPart(step));
  if (step.step === "search") content.push(actionsPart(round));
  if (step.step === "research") content.push(thoughtsPart(round));
  if (step.step === "write" && step.document) content.push(" ", draftPart(id, step.document, `${step.team_id}/${round.number}/${step.iteration}`));
  if (step.step === "review" && step.feedback) content.splice(0, 1, el("details", { "data-key": `review/${key}/${step.team_id}/${round.number}/${step.iteration}` }, el("summary", {}, t("read_review")), el("pre", {}, step.feedback)));
  return stepRow(key, content);
}

function planPart({ plan }) {
  return el("details", { "data-key": `plan/${plan.created_at}` }, el("summary", {}, t("plan_counts", { points: plan.investigation_points.length, queries: plan.search_queries.length })),
    el("h3", {}, t("points")), el("ul", {}, plan.investigation_points.map((point) => el("li", {}, point))),
    el("h3", {}, t("queries")), el("ul", {}, plan.search_queries.map((query) => el("li", {}, query))));
}

/** All that the team looked up: searches, literal finds, sections read. */
function actionsPart(round) {
  if (!round.searches.length) return null;
  return el("details", { "data-key": `searches/${round.searches[0].team_id}/${round.number}` }, el("summary", {}, t("actions"), ` (${round.searches.length})`),
    el("ul", {}, round.searches.map((action) => el("li", {}, [t(`kind_${action.kind ?? "search"}`), action.query, action.source, action.count].filter((each) => each !== "").join(" · "),
      el("ul.small.quiet", {}, action.hits.slice(0, 5).map((hit) => el("li", {}, hit.title, hit.published_date && ` (${hit.published_date})`)))))));
}

/** What the researcher thought at each step. */
function thoughtsPart(round) {
  const steps = round.steps.filter((step) => step.step === "research" && step.thought).sort((one, other) => one.iteration - other.iteration);
  if (!steps.length) return null;
  return el("details", { "data-key": `thoughts/${steps[0].team_id}/${round.number}` }, el("summary", {}, t("thoughts"), ` (${steps.length})`),
    el("ol", {}, steps.map((step) => el("li", {}, step.thought, el("span.small.quiet", {}, ` ${step.detail}`)))));
}

/** Texts of drafts: where a run goes on, its page is drawn anew faster than a slow server answers. */
const drafts = new Map();

function draftText(id, document) {
  const key = `${id}/${document}`;
  if (!drafts.has(key)) {
    drafts.set(key, api.document(id, document));
    drafts.get(key).catch(() => drafts.delete(key));
  }
  return drafts.get(key);
}

/** A draft's text, fetched when somebody opens it; `place` tells two of the same text apart. */
function draftPart(id, document, place) {
  const text = el("article.small");
  const part = el("details", { "data-key": `draft/${place}` }, el("summary", {}, t("read_draft")), text);
  part.addEventListener("toggle", async () => {
    if (!part.open || text.childNodes.length) return;
    try {
      const { markdownInto } = await reading();
      markdownInto(text, await draftText(id, document));
    } catch (error) {
      refill(text, problem(error));
    }
  });
  return part;
}

/** Where scores did not decide, judges did who saw both reports side by side. */
function editorWord({ published, score, best_score }) {
  const byScore = score !== null && score >= (best_score ?? 0);
  if (published) return byScore ? "editor_published" : "editor_preferred";
  return byScore ? "editor_not_preferred" : "editor_kept";
}

function mergedPart(run) {
  const { merged } = run;
  return el("section.card", {}, el("h2", {}, t("editor")),
    merged.failure ? el("p.notice.warn", {}, merged.failure)
      : !merged.reports ? el("p", {}, t("editor_none"))
      : el("p", {}, t(editorWord(merged), { score: percent(merged.score), best: percent(merged.best_score) })),
    el("ul", {}, Object.entries(merged.taken).map(([team, what]) => el("li", {}, t("taken", { team: nameOf(run, team), what })))));
}
