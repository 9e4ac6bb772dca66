/** What judges said: the run's criteria, and each team's last evaluation. */

import { el, table } from "./dom.js";
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
  const heads = [el("th", {}, t("criterion")), el("th.number", {}, "%"), scored.map(({ team }) => el("th", {}, team.name))];
  const rows = run.criteria.map((criterion, place) => [
    el("td", {}, criterion.text, criterion.example && el("div.small.quiet", {}, criterion.example)), el("td.number", {}, Math.round(criterion.weight * 100)), scored.map((each) => verdictCell(verdictOf(each, place + 1))),
  ]);
  return el("section.card", {}, el("h2", {}, t("criteria")), table(heads, rows));
}

/** A verdict as a sign, in words for a screen reader. */
export const verdictSign = (verdict) => (verdict ? el(`span.${verdict}`, { title: t(verdict) }, SIGNS[verdict], el("span.unseen", {}, t(verdict))) : "–");

const verdictCell = (verdict) => el("td", {}, verdictSign(verdict));

function metricTable(round) {
  const fixes = (metric) => metric.fixes.length > 0 && el("ul.small.quiet", {}, metric.fixes.map((fix) => el("li", {}, `${fix.where}: ${fix.what}`)));
  const rows = round.metrics.filter((metric) => metric.applies).map((metric) => [
    el("td", {}, shownName(metric.name)),
    el("td.number", {}, metric.score === null ? t("unscored") : percent(metric.score)),
    el("td", {}, metric.reason, fixes(metric)),
  ]);
  return table([el("th", {}, t("metric")), el("th.number", {}, t("score")), el("th", {}, t("why"))], rows);
}
