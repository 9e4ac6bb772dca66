/** What judges said: the run's criteria, and each team's last evaluation. */

import { el, table } from "./dom.js";
import { percent, shownName, t } from "./words.js";

/** The criteria and metrics as heat maps of the reports; below, folded, why each report scored as it did. */
export function judgesView(run) {
  const last = (team) => [...team.rounds.values()].filter((round) => round.scored).at(-1);
  const reports = [...run.teams.values()].filter(last).map((team) => ({ id: team.id, name: team.name, of: t("round_n", { n: last(team).number }), ...last(team) }));
  if (run.merged?.metrics?.length) reports.push({ id: "", name: t("editor"), of: t("merge"), ...run.merged });
  const reasons = new Map(reports.map((report) => [report.id, reasonsOf(report)]));
  return el("div.stack", {},
    reports.length ? metricMap(reports, reasons) : el("p.quiet", {}, t("no_scores")),
    run.criteria.length ? criteriaMap(run, reports) : null,
    [...reasons.values()]);
}

/** A heat map: rows by name, a column for each report. */
const heatMap = (head, reports, rows) => table([el("th", {}, head), reports.map((report) => el("th.cell", {}, report.name))], rows, "table.heat");

const HEATS = [[0.95, "h4"], [0.85, "h3"], [0.7, "h2"], [0.5, "h1"], [0, "h0"]];
const heatOf = (score) => (score === null || score === undefined ? "none" : HEATS.find(([least]) => score >= least)[1]);

/** Scores by metric; a cell leads to its reason. */
function metricMap(reports, reasons) {
  const names = [...new Set(reports.flatMap((report) => report.metrics.filter((metric) => metric.applies).map((metric) => metric.name)))];
  const open = (report, name) => {
    const part = reasons.get(report.id);
    part.open = true;
    const row = [...part.querySelectorAll("[data-metric]")].find((each) => each.dataset.metric === name);
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
  };
  const cell = (report, name) => {
    const metric = report.metrics.find((each) => each.name === name && each.applies);
    if (!metric) return el("td.cell", {}, "–");
    const label = `${shownName(name)}, ${report.name}: ${percent(metric.score)}. ${t("why")}?`;
    return el(`td.cell.${heatOf(metric.score)}`, {}, el("button.plain", { type: "button", "aria-label": label, "data-key": `${report.id}/${name}`, onclick: () => open(report, name) }, percent(metric.score)));
  };
  const whole = [el("th", { scope: "row" }, t("score")), reports.map((report) => el(`td.cell.${heatOf(report.score)}`, {}, el("strong", {}, percent(report.score))))];
  return el("section.card", {}, el("h2", {}, t("scores_by_metric")), el("p.small.quiet", {}, t("heat_hint")),
    heatMap(t("metric"), reports, [whole, ...names.map((name) => [el("th", { scope: "row" }, shownName(name)), reports.map((report) => cell(report, name))])]));
}

const SIGNS = { met: "✓", partly: "½", unmet: "✗" };

/** Each criterion with its share of all, and which report met it. */
function criteriaMap(run, reports) {
  const verdictOf = ({ metrics }, place) => metrics.map((metric) => metric.verdicts?.[place]).find(Boolean);
  const rows = run.criteria.map((criterion, place) => ({ verdicts: reports.map((report) => verdictOf(report, place + 1)), head: el("th", { scope: "row" },
    criterion.example ? el("details", { "data-key": `criterion/${place}` }, el("summary", {}, criterion.text, share(criterion)), el("div.small.quiet", {}, criterion.example)) : [criterion.text, share(criterion)]) }));
  const isMet = ({ verdicts }) => verdicts.length > 0 && verdicts.every((verdict) => verdict === "met");
  const map = (some) => some.length > 0 && heatMap(t("criterion"), reports, some.map(({ head, verdicts }) => [head, ...verdicts.map(verdictCell)]));
  const met = rows.filter(isMet);
  // Where there is little room, what tells the reports apart comes first.
  return el("section.card", {}, el("h2", {}, t("criteria")), map(rows.filter((row) => !isMet(row))),
    met.length > 0 && el("details", { "data-key": "met", open: innerWidth > 720 }, el("summary", {}, t("met_by_all", { n: met.length })), map(met)));
}

const share = ({ weight }) => el("span.small.quiet.number", {}, ` ${Math.round(weight * 100)} %`);
/** Verdicts of two runs on the same criteria, side by side; `names` heads their columns. */
export const verdictMap = (names, criteria) => heatMap(t("criterion"), names.map((name) => ({ name })), criteria.map(({ text, verdicts }) => [el("th", { scope: "row" }, text), ...verdicts.map(verdictCell)]));

const VERDICT_HEATS = { met: "h4", partly: "h2", unmet: "h0" };
const verdictCell = (verdict) => el(`td.cell.${VERDICT_HEATS[verdict] ?? "none"}`, {}, verdictSign(verdict));

/** A verdict as a sign, in words for a screen reader. */
export const verdictSign = (verdict) => (verdict ? el(`span.${verdict}`, { title: t(verdict) }, SIGNS[verdict], el("span.unseen", {}, t(verdict))) : "–");

/** Why a report scored as it did, and what its judges want changed. */
function reasonsOf(report) {
  const fixes = (metric) => metric.fixes.length > 0 && el("ul.small.quiet", {}, metric.fixes.map((fix) => el("li", {}, `${fix.where}: ${fix.what}`)));
  return el("details.card", { "data-key": `reasons/${report.id}` }, el("summary", {}, `${report.name} · ${report.of} · ${percent(report.score)}: ${t("why")}`),
    el("dl.reasons", {}, report.metrics.filter((metric) => metric.applies).map((metric) => el("div", { "data-metric": metric.name, "data-key": `reason/${report.id}/${metric.name}`, tabindex: "-1" },
      el("dt", {}, shownName(metric.name), " ", el("span.number", {}, metric.score === null ? t("unscored") : percent(metric.score))),
      el("dd", {}, metric.reason, fixes(metric))))));
}
