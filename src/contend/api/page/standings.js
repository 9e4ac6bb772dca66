/** How the teams stand over all runs of a dataset: rating, its interval, pairs won. */

import { api } from "./api.js";
import { interval, rowChart } from "./charts.js";
import { el, refill, table } from "./dom.js";
import { drawInto } from "./problem.js";
import { t } from "./words.js";

export function showStandings(main, [dataset = "default"]) {
  const body = el("div.stack", {}, el("p.quiet", {}, t("loading")));
  refill(main, el("div.stack", {}, el("h1", {}, `${t("standings")} · ${dataset}`), body));
  drawInto(body, api.standings(dataset), (standings) => [others(standings), ratings(standings)]);
}

const others = ({ datasets, dataset }) => el("p.row.small", {}, datasets.filter((each) => each !== dataset).map((each) =>
  el("a", { href: `#/standings/${encodeURIComponent(each)}` }, each)));

function ratings({ teams, runs, is_clear }) {
  if (!teams.length) return el("p.quiet", {}, t("no_standings"));
  const heads = ["rating", "interval", "runs_played", "won", "tied", "lost"].map((name) => el("th.number", {}, t(name)));
  const figures = (team) => [Math.round(team.rating), `${Math.round(team.low)}–${Math.round(team.high)}`, team.runs, team.wins, team.ties, team.losses];
  const rows = teams.map((team) => [el("td", {}, team.team_name), figures(team).map((figure) => el("td.number", {}, figure))]);
  return el("section.card", {}, el("p", {}, t(is_clear ? "standings_clear" : "standings_unclear", { n: runs, team: teams[0].team_name })),
    plot(teams),
    table([el("th", {}, t("team")), heads], rows),
    el("p.small.quiet", {}, t("standings_how")));
}

/** Each rating with its interval, on one scale. */
function plot(teams) {
  const [low, high] = [Math.min(...teams.map((team) => team.low)), Math.max(...teams.map((team) => team.high))];
  const range = (team) => `${Math.round(team.low)}–${Math.round(team.high)}`;
  const rows = teams.map((team) => ({ name: team.team_name, figure: `${Math.round(team.rating)} (${range(team)})`, draw: (x) => interval(x, team.rating, [team.low, team.high]) }));
  const label = `${t("rating")}: ${teams.map((team) => `${team.team_name} ${Math.round(team.rating)}, ${range(team)}`).join("; ")}`;
  return rowChart(label, { low, high, rows, ends: [Math.round(low), Math.round(high)] });
}
