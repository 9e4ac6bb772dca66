/** What judges said: the run's criteria, and each team's last evaluation. */

import { el } from "./dom.js";
import { percent, shownName, t } from "./words.js";

export function judgesView(run) {
  const teams = [...run.teams.values()].map((team) => ({ team, round: [...team.rounds.values()].filter((round) => round.scored).at(-1) }));
  const scored = teams.filter((each) => each.round);
  return el("div.stack", {},
    run.criteria.length ? criteriaTable(run, scored) : null,
    scored.length ? null : el("p.quiet", {}, t("no_scores")),
    scored.map(({ team, round }) => el("section.card", {}, el("h2", {}, `${team.name} · ${t("round_n", { n: round.number })} · ${percent(round.score)}`), metricTable(round))));
}

const SIGNS = { met: "✓", partly: "½", unmet: "✗" };

/** Each criterion with its share of all, and which team met it. */
function criteriaTable(run, scored) {
  const verdictOf = ({ round }, number) => round.metrics.map((metric) => metric.verdicts?.[number]).find(Boolean);
  return el("section.card", {}, el("h2", {}, t("criteria")), el("div.scroll", {}, el("table", {},
    el("thead", {}, el("tr", {}, el("th", {}, t("criterion")), el("th.number", {}, "%"), scored.map(({ team }) => el("th", {}, team.name)))),
    el("tbody", {}, run.criteria.map((criterion, place) => el("tr", {},
      el("td", {}, criterion.text),
      el("td.number", {}, Math.round(criterion.weight * 100)),
      scored.map((each) => verdictCell(verdictOf(each, place + 1)))))))));
}

function verdictCell(verdict) {
  if (!verdict) return el("td", {}, "–");
  return el("td", {}, el(`span.${verdict}`, { title: t(verdict) }, SIGNS[verdict], el("span.unseen", {}, t(verdict))));
}

function metricTable(round) {
  return el("div.scroll", {}, el("table", {},
    el("thead", {}, el("tr", {}, el("th", {}, t("metric")), el("th.number", {}, t("score")), el("th", {}, t("why")))),
    el("tbody", {}, round.metrics.filter((metric) => metric.applies).map((metric) => el("tr", {},
      el("td", {}, shownName(metric.name)),
      el("td.number", {}, metric.score === null ? t("unscored") : percent(metric.score)),
      el("td", {}, metric.reason, metric.fixes.length > 0 && el("ul.small.quiet", {}, metric.fixes.map((fix) => el("li", {}, `${fix.where}: ${fix.what}`)))))))));
}
