/** All runs, newest first, with search. */

import { api } from "./api.js";
import { el, refill } from "./dom.js";
import { problem } from "./ask.js";
import { percent, t, when } from "./words.js";

const PAGE = 20;

export function showHistory(main, _rest, query) {
  const list = el("div.card");
  const search = el("input", { type: "search", value: query.get("q") ?? "", "aria-label": t("search_runs"), placeholder: t("search_runs") });
  refill(main, el("div.stack", {}, el("h1", {}, t("history")), search, list));
  let offset = 0;
  const load = async () => {
    try {
      const page = await api.list(search.value, offset, PAGE);
      const older = el("button", { type: "button", onclick: () => { offset += PAGE; load(); } }, t("older"));
      refill(list, page.items.length ? runTable(page.items) : el("p.quiet", {}, t("no_runs")), page.items.length === PAGE && older);
    } catch (error) {
      refill(list, problem(error));
    }
  };
  let waiting;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { offset = 0; load(); }, 200);
  });
  load();
  return () => clearTimeout(waiting);
}

const TONES = { completed: "good", failed: "bad", interrupted: "warn", waiting: "warn", processing: "live", started: "live", partial: "warn" };

export const statusPill = (status) => {
  const tone = TONES[status] ?? "quiet";
  return el(`span.pill.${tone}`, {}, t(status));
};

export function runTable(runs) {
  return el("div.scroll", {}, el("table", {},
    el("thead", {}, el("tr", {}, el("th", {}, t("question")), el("th", {}), el("th", {}, t("winner")), el("th.number", {}, t("best")), el("th", {}))),
    el("tbody", {}, runs.map((run) => el("tr", {},
      el("td", {}, el("a", { href: `#/run/${run.research_id}` }, run.theme)),
      el("td", {}, statusPill(run.outcome === "partial" ? "partial" : run.status)),
      el("td", {}, run.winner_team_id ?? ""),
      el("td.number", {}, run.best_score === null || run.best_score === undefined ? "" : percent(run.best_score)),
      el("td.small.quiet", {}, when(run.created_at)))))));
}
