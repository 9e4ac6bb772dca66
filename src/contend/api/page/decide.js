/** Questions that wait for a person: approve, edit, reject. */

import { el, refill } from "./dom.js";
import { problem } from "./ask.js";
import { nameOf } from "./run_state.js";
import { shownName, t } from "./words.js";

/** @param send gives the answers by question id to the run; it resolves when they are taken. */
export function questionCards(run, questions, send) {
  const notice = el("div");
  const answer = async (answers) => {
    try {
      refill(notice);
      await send(answers);
    } catch (error) {
      refill(notice, problem(error));
    }
  };
  const all = () => answer(Object.fromEntries(questions.map((each) => [each.id, { type: "approve" }])));
  return el("section.notice.question.stack", { "aria-label": t("decide") },
    el("div.row.spread", {}, el("strong", {}, questions.length > 1 ? t("decide_n", { n: questions.length }) : t("decide")),
      questions.length > 1 && el("button.main", { type: "button", onclick: all }, t("approve_all"))),
    questions.map((question) => questionCard(run, question, answer)), notice);
}

function questionCard(run, question, answer) {
  const give = (decision) => answer({ [question.id]: decision });
  const below = el("div.stack");
  const card = el("div.card.stack", {},
    el("h2", {}, question.team_id && `${nameOf(run, question.team_id)}: `, t(`decide_${question.asked}`)),
    question.problem && el("p.notice.bad", {}, question.problem),
    el("p", {}, question.description),
    shown(question.args),
    el("div.row.actions", {},
      el("button.main", { type: "button", onclick: () => give({ type: "approve" }) }, t("approve")),
      el("button", { type: "button", onclick: () => edit(question, below, give) }, t("edit")),
      el("button.danger", { type: "button", onclick: () => reject(below, give) }, t("reject"))),
    below);
  return card;
}

/** Values as a person reads them: lists as lists, the rest as text. */
function shown(args) {
  return el("div.small", {}, Object.entries(args).map(([name, value]) => el("details", { open: Array.isArray(value) }, el("summary", {}, shownName(name)),
    Array.isArray(value) ? el("ul", {}, value.map((each) => el("li", {}, plain(each)))) : el("pre", {}, plain(value)))));
}

const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

function reject(below, give) {
  const reason = el("textarea", { rows: 2, "aria-label": t("reason") });
  refill(below, el("p.small", {}, t("reason")), reason,
    el("div.row", {}, el("button.danger", { type: "button", onclick: () => give({ type: "reject", reason: reason.value }) }, t("reject")), back(below)));
  reason.focus();
}

/** Texts in fields of their own, lists of texts a line each, all else as JSON. */
function edit(question, below, give) {
  const fields = Object.entries(question.args).map(([name, value]) => {
    const isLines = Array.isArray(value) && value.every((each) => typeof each === "string");
    const isText = typeof value === "string";
    const text = isText ? value : isLines ? value.join("\n") : JSON.stringify(value, null, 1);
    const control = el("textarea", { rows: Math.min(10, text.split("\n").length + 1), "aria-label": shownName(name) }, text);
    const read = () => {
      if (isText) return control.value;
      return isLines ? control.value.split("\n").map((line) => line.trim()).filter(Boolean) : JSON.parse(control.value);
    };
    return { name, control, read };
  });
  const save = () => {
    try {
      give({ type: "edit", args: Object.fromEntries(fields.map((each) => [each.name, each.read()])) });
    } catch (error) {
      below.append(problem(error));
    }
  };
  refill(below, el("p.small", {}, t("edit_hint")), fields.map((each) => el("label.field", {}, el("span.label", {}, shownName(each.name)), each.control)),
    el("div.row", {}, el("button.main", { type: "button", onclick: save }, t("send")), back(below)));
}

const back = (below) => el("button", { type: "button", onclick: () => refill(below) }, t("back"));
