/** Two runs side by side, or one run's merged report beside its best team's: what they say differently. */

import { api } from "./api.js";
import { el, options, refill, table } from "./dom.js";
import { outcomeOf, statusOf, statusPill } from "./history.js";
import { verdictMap, verdictSign } from "./judges.js";
import { drawInto, problem } from "./problem.js";
import { reading } from "./run.js";
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
    drawInto(body, compared(one, other), comparison);
  }
}

/** Of a run whose merged report was published: what the editor changed of the best team's. */
export function showChanges(main, [id]) {
  const body = el("div.stack", {}, el("p.quiet", {}, t("loading")));
  refill(main, el("div.stack", {}, el("h1", {}, t("merge_changes")), body));
  drawInto(body, merged(id), ({ details, team_name: team, statements, texts, markdownInto }) => {
    const names = [`${team} ${percent(details.best_score)}`, `${t("editors_merge")} ${percent(details.published_score)}`];
    return [
      el("p", {}, el("a.folded", { href: `#/run/${encodeURIComponent(id)}/read` }, details.theme)),
      statementsPart(statements, names),
      textsPart(texts, names, markdownInto),
    ];
  });
}

async function merged(id) {
  const [details, changes, { markdownInto }] = await Promise.all([api.get(id), api.mergeChanges(id), reading()]);
  return { details, ...changes, markdownInto, texts: await Promise.all([api.document(id, changes.document), api.report(id, "md")]) };
}

/** The comparison, each side with its published report as Markdown; "" where it has none. */
async function compared(one, other) {
  const both = await api.compare(one, other);
  const texts = [both.first, both.second].map(({ research }) => (research.has_report ? api.report(research.research_id, "md") : ""));
  const { markdownInto } = await reading();
  return { ...both, markdownInto, texts: await Promise.all(texts) };
}

function comparison({ first, second, common_sources: common, only_first: onlyFirst, only_second: onlySecond, statements, texts, markdownInto }) {
  const names = [first, second].map(({ research }, place) => `${place + 1}. ${when(research.created_at)}`);
  return el("div.stack", {},
    el("div.columns", {}, sideCard(first), sideCard(second)),
    criteriaPart(first, second, names),
    statements && statementsPart(statements, names),
    el("div.card", {}, el("p", {}, t("both", { n: common.length })),
      el("div.columns", {}, onlyHere(first, onlyFirst), onlyHere(second, onlySecond))),
    textsPart(texts, names, markdownInto));
}

/** The reports, each under its name. */
const textsPart = (texts, names, markdownInto) => el("div.columns", {}, texts.map((text, place) => el("section.card", { "aria-label": names[place] },
  el("p.small.quiet", {}, names[place]), text ? markdownInto(el("article.small"), text) : el("p.quiet", {}, t("no_report")))));

/** A list of more statements than this is folded. */
const MOST_OPEN = 12;

/** The statements that two reports do not share; `names`: of the reports. */
function statementsPart({ common, changed, only_first: onlyFirst, only_second: onlySecond }, names) {
  const only = [onlyFirst, onlySecond];
  return el("section.card.stack", {}, el("h2", {}, t("changed_statements")),
    el("div", {}, t("statements_common", { n: number(common) })),
    listPart(t("statements_changed", { n: number(changed.length) }), changed.length, pairs(changed, names)),
    el("div.columns", {}, only.map((texts, place) => listPart(t("statements_only", { name: names[place], n: number(texts.length) }), texts.length, el("ul.small", {}, texts.map((text) => el("li", {}, text)))))));
}

const listPart = (head, count, content) => (count ? el("details", { open: count <= MOST_OPEN }, el("summary", {}, head), content) : el("div.quiet", {}, head));

const SIDES = [["first", "del", "−"], ["second", "ins", "+"]];

/** Pairs of statements that correspond, side by side, the words that one has alone marked. */
const pairs = (changed, names) => [
  el("div.columns.small.quiet", { "aria-hidden": "true" }, SIDES.map(([, , sign], place) => el("span", {}, `${sign} ${names[place]}`))),
  el("ul.pairs.small", {}, changed.map((words) => el("li.columns", {}, SIDES.map(([side, mark, sign], place) =>
    el("p", {}, el("span", { "aria-hidden": "true" }, `${sign} `), el("span.unseen", {}, `${names[place]}: `),
      words.filter((each) => each.side === "both" || each.side === side).map((each) => (each.side === "both" ? each.text : marked(mark, each.text)))))))),
];

/** The words marked, and not the space around them. */
function marked(mark, text) {
  const [, before, words, after] = /^(\s*)(.*?)(\s*)$/s.exec(text);
  return [before, words && el(mark, {}, words), after];
}

/** What reports had to do, and whether judges saw the published ones do it: in one table where both runs had the same to do. */
function criteriaPart(first, second, names) {
  if (!first.criteria.length && !second.criteria.length) return null;
  const texts = ({ criteria }) => criteria.map(({ text }) => text).join("\n");
  if (texts(first) !== texts(second)) return el("div.columns", {}, criteriaCard(first), criteriaCard(second));
  const criteria = first.criteria.map(({ text, verdict }, place) => ({ text, verdicts: [verdict, second.criteria[place].verdict] }));
  return el("section.card", {}, el("h2", {}, t("criteria")), verdictMap(names, criteria));
}

function onlyHere({ sources }, urls) {
  const titles = urls.map((url) => sources.find((source) => source.url === url)?.title ?? url);
  return el("div", {}, el("h3", {}, t("only_here")), titles.length ? el("ul.small", {}, titles.map((title) => el("li", {}, title))) : el("p.small.quiet", {}, t("none")));
}

function sideCard({ research, rounds, statistics }) {
  const { usage, leaderboard } = research;
  const nameOf = (id) => leaderboard.find((entry) => entry.team_id === id)?.team_name ?? id;
  const outcome = outcomeOf({ ...research, winner: nameOf(research.winner_team_id) });
  const scoresOf = (team) => rounds.filter((round) => round.team_id === team).map((round) => percent(round.score)).join(" → ");
  return el("section.card", {},
    el("h2", {}, el("a.folded", { href: `#/run/${encodeURIComponent(research.research_id)}` }, research.theme)),
    el("p.row", {}, statusPill(statusOf(research)), el("span.small.quiet", {}, when(research.created_at))),
    el("p.small.quiet", {}, [t("calls_used", { n: number(usage.requests) }), t("tokens_used", { n: number(usage.input_tokens + usage.output_tokens) }), `${t("sources")}: ${statistics.sources_collected}`].join(" · ")),
    outcome && el("p", {}, outcome),
    table([el("th", {}, t("rank")), el("th", {}, t("team")), el("th.number", {}, t("best")), el("th", {}, t("rounds"))],
      leaderboard.map((entry) => [el("td", {}, entry.rank ?? ""), el("td", {}, entry.team_name), el("td.number", {}, percent(entry.best_score)), el("td.small", {}, scoresOf(entry.team_id))]), "table.ranking"));
}

const criteriaCard = ({ criteria }) => el("section.card", {}, el("h2", {}, t("criteria")),
  el("ul.criteria", {}, criteria.map(({ text, verdict }) => el("li", {}, el("span", {}, verdictSign(verdict)), el("span", {}, text)))));
