/** Two runs side by side. */

import { api } from "./api.js";
import { el, options, refill } from "./dom.js";
import { statusOf, statusPill } from "./history.js";
import { drawInto, problem } from "./problem.js";
import { number, percent, t, when } from "./words.js";

export function showCompare(main, [one, other]) {
  const body = el("div");
  const choice = options(el("select", { "aria-label": t("choose_run"), onchange: (event) => { location.hash = `#/compare/${one}/${event.target.value}`; } }), [["", t("choose_run")]], "");
  refill(main, el("div.stack", {}, el("h1", {}, t("compare")), el("label.field", {}, el("span.label", {}, t("versus")), choice), body));
  api.list("", 0, 50).then((page) => {
    options(choice, page.items.filter((run) => run.research_id !== one).map((run) => [run.research_id, `${run.theme.slice(0, 80)} · ${when(run.created_at)}`]), other);
  }).catch((error) => refill(body, problem(error)));
  if (other) {
    refill(body, el("p.quiet", {}, t("loading")));
    drawInto(body, api.compare(one, other), comparison);
  }
}

function comparison({ first, second, common_sources: common, only_first: onlyFirst, only_second: onlySecond }) {
  return el("div.stack", {},
    el("div.columns", {}, sideCard(first), sideCard(second)),
    el("div.card", {}, el("p", {}, t("both", { n: common.length })),
      el("div.columns", {}, onlyHere(first, onlyFirst), onlyHere(second, onlySecond))));
}

function onlyHere({ sources }, urls) {
  const titles = urls.map((url) => sources.find((source) => source.url === url)?.title ?? url);
  return el("div", {}, el("h3", {}, t("only_here")), titles.length ? el("ul.small", {}, titles.map((title) => el("li", {}, title))) : el("p.small.quiet", {}, t("none")));
}

function sideCard({ research, executive_summary: summary, key_findings: findings, statistics }) {
  const { usage, leaderboard } = research;
  return el("section.card", {},
    el("h2", {}, el("a.folded", { href: `#/run/${encodeURIComponent(research.research_id)}` }, research.theme)),
    el("p.row", {}, statusPill(statusOf(research)), el("span.small.quiet", {}, when(research.created_at))),
    el("p.small.quiet", {}, [t("calls_used", { n: number(usage.requests) }), t("tokens_used", { n: number(usage.input_tokens + usage.output_tokens) }), `${t("sources")}: ${statistics.sources_collected}`].join(" · ")),
    el("table.ranking", {}, el("tbody", {}, leaderboard.map((entry) => el("tr", {}, el("td", {}, entry.rank ?? ""), el("td", {}, entry.team_name), el("td.number", {}, percent(entry.best_score)))))),
    el("p", {}, summary),
    el("ol", {}, findings.map((finding) => el("li", {}, finding))));
}
