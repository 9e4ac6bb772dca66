/** How the teams stand over all runs of a dataset: rating, its interval, pairs won. */

import { api } from "./api.js";
import { el, refill } from "./dom.js";
import { problem } from "./problem.js";
import { t } from "./words.js";

export function showStandings(main, [dataset = "default"]) {
  const body = el("div.stack", {}, el("p.quiet", {}, t("loading")));
  refill(main, el("div.stack", {}, el("h1", {}, `${t("standings")} · ${dataset}`), body));
  api.standings(dataset).then((standings) => refill(body, others(standings), ratings(standings))).catch((error) => refill(body, problem(error)));
}

const others = ({ datasets, dataset }) => el("p.row.small", {}, datasets.filter((each) => each !== dataset).map((each) =>
  el("a", { href: `#/standings/${encodeURIComponent(each)}` }, each)));

function ratings({ teams, runs, is_clear }) {
  if (!teams.length) return el("p.quiet", {}, t("no_standings"));
  return el("section.card", {}, el("p", {}, t(is_clear ? "standings_clear" : "standings_unclear", { n: runs, team: teams[0].team_name })),
    el("div.scroll", {}, el("table", {},
      el("thead", {}, el("tr", {}, el("th", {}, t("team")), ["rating", "interval", "runs_played", "won", "tied", "lost"].map((name) => el("th.number", {}, t(name))))),
      el("tbody", {}, teams.map((team) => el("tr", {}, el("td", {}, team.team_name),
        [Math.round(team.rating), `${Math.round(team.low)}–${Math.round(team.high)}`, team.runs, team.wins, team.ties, team.losses].map((figure) => el("td.number", {}, figure))))))),
    el("p.small.quiet", {}, t("standings_how")));
}
