/** How a run went: scores by round, what each team did when, what that cost, and why it ended. */

import { bar, legend, lineChart, rowChart } from "./charts.js";
import { el } from "./dom.js";
import { nameOf } from "./run_state.js";
import { duration, number, percent, t } from "./words.js";

export function storyView(run) {
  const teams = [...run.teams.values()];
  const scored = teams.some((team) => scoresOf(team).length);
  const acting = teams.filter((team) => team.marks.size > 1);
  if (!acting.length) return null;
  return el("div.columns", {},
    el("section.card", {}, el("h2", {}, t("scores_by_round")), scored ? scoreChart(run, teams) : el("p.quiet", {}, t("no_scores"))),
    el("section.card", {}, el("h2", {}, t("time_line")), timeLine(run, acting), run.recorded && el("p.small.quiet", {}, t("times_replayed")), whyEnded(run, teams)));
}

const scoresOf = (team) => [...team.rounds.values()].filter((round) => (round.score ?? null) !== null);

/** Each team's line, and behind the last round the editor's merge. */
function scoreChart(run, teams) {
  const last = Math.max(...teams.flatMap((team) => scoresOf(team).map((round) => round.number)));
  const merged = run.merged?.score ?? null;
  const columns = Array.from({ length: last }, (_, place) => t("round_n", { n: place + 1 }));
  const lines = teams.map((team) => ({ name: team.name, points: scoresOf(team).map((round) => [round.number - 1, round.score]) }));
  if (merged !== null) {
    columns.push(t("merge"));
    lines.push({ name: t("editor"), points: [[last, merged]] });
  }
  const series = lines.filter(({ points }) => points.length);
  const description = series.map(({ name, points }) => `${name} ${points.map(([, score]) => percent(score)).join(", ")}`);
  return lineChart(`${t("scores_by_round")}: ${description.join("; ")}`, columns, series);
}

const PHASES = ["plan", "search", "write", "judge"];

function timeLine(run, teams) {
  const start = Date.parse(run.startedAt);
  const end = Math.max(start + 1, Date.parse(run.lastAt));
  const rows = teams.map((team) => {
    const spans = spansOf(team);
    return { name: team.name, figure: costOf(team), draw: (x) => spans.map(({ phase, from, to }) => bar(x, [from, to], PHASES.indexOf(phase), `${t(`phase_${phase}`)}: ${seconds(to - from)}`)) };
  });
  if (run.merged?.reports) {
    const from = Math.max(...teams.flatMap((team) => [...team.marks.values()].map(({ at }) => at)));
    rows.push({ name: t("editor"), figure: "", draw: (x) => bar(x, [from, Date.parse(run.merged.at)], PHASES.indexOf("write"), t("merge")) });
  }
  const description = teams.map((team) => [team.name, costOf(team)].filter(Boolean).join(" "));
  return [rowChart(`${t("time_line")}: ${description.join("; ")}`, { low: start, high: end, rows, ends: ["0:00", duration((end - start) / 1000)] }), legend(PHASES.map((phase) => t(`phase_${phase}`)), "bar")];
}

const seconds = (milliseconds) => (milliseconds < 10000 ? t("seconds", { n: number(Math.round(milliseconds / 100) / 10) }) : duration(milliseconds / 1000));

/** The times between what a team told, each named by what it ended; times in which nobody worked are left out. */
function spansOf(team) {
  const marks = [...team.marks.values()].sort((one, other) => one.at - other.at);
  return marks.slice(1).map(({ phase, at }, place) => ({ phase, from: marks[place].at, to: at })).filter(({ phase }) => phase);
}

/** What a team's finished rounds cost: money where prices are known, else tokens. */
function costOf(team) {
  const usages = [...team.rounds.values()].map((round) => round.usage).filter((usage) => usage?.requests);
  if (!usages.length) return "";
  const sum = (name) => usages.reduce((total, usage) => total + usage[name], 0);
  if (usages.every((usage) => usage.cost_usd !== null)) return t("cost", { n: sum("cost_usd").toFixed(2) });
  return t("tokens_used", { n: number(sum("input_tokens") + sum("output_tokens")) });
}

/** Why each team played no further round, and what came of the run. */
function whyEnded(run, teams) {
  const lines = teams.map((team) => ({ team, judged: [...team.rounds.values()].at(-1)?.judged })).filter(({ judged }) => judged?.exit_reason);
  if (!lines.length) return null;
  return el("div", {}, el("h3", {}, t("why_ended")), el("ul.plain.small", {},
    lines.map(({ team, judged }) => el("li", {}, `${team.name}: `, judged.exit_reason === "judge" ? judged.reasoning : t(`why_${judged.exit_reason}`))),
    run.done && run.done.status !== "completed" && el("li", {}, run.done.message),
    run.winner && el("li", {}, t("best_is", { team: nameOf(run, run.winner), score: percent(run.best) }))));
}
