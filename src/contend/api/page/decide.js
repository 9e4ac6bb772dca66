/** Questions that wait for a person, as one form: each is approved, edited or rejected, and all are answered at once. */

import { el, refill } from "./dom.js";
import { problem } from "./problem.js";
import { nameOf } from "./run_state.js";
import { shownName, t } from "./words.js";

/** @param send gives the answers by question id to the run; it resolves when they are taken. */
export function questionForm(run, questions, send) {
  const notice = el("div");
  const button = el("button.main", { type: "submit" });
  const cards = questions.map((question) => questionCard(run, question, () => name()));
  const name = () => {
    const isPlain = cards.every((card) => card.choice() === "approve");
    button.textContent = isPlain ? t(cards.length > 1 ? "approve_all" : "approve") : t("send_answers");
  };
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      refill(notice);
      await send(Object.fromEntries(cards.map((card) => [card.id, card.answer()])));
    } catch (error) {
      refill(notice, problem(error));
    } finally {
      button.disabled = false;
    }
  };
  name();
  return el("form.notice.question.stack", { onsubmit: submit, "aria-label": t("decide") },
    el("strong", {}, questions.length > 1 ? t("decide_n", { n: questions.length }) : t("decide")),
    cards.map((card) => card.node), notice, el("div.row.actions", {}, button));
}

/** A question with what may be answered: `choice` names it, `answer` gives it. */
function questionCard(run, question, onChange) {
  const below = el("div.stack");
  let chosen = "approve";
  let answer = () => ({ type: "approve" });
  const fill = { approve: () => refill(below) && (() => ({ type: "approve" })), edit: () => editing(question, below), reject: () => rejecting(question, below) };
  const choose = (event) => {
    chosen = event.target.value;
    answer = fill[chosen]();
    onChange();
  };
  const choices = ["approve", "edit", "reject"].map((each) =>
    el("label.check", {}, el("input", { type: "radio", name: question.id, value: each, checked: each === chosen, onchange: choose }), t(each)));
  const node = el("fieldset.card.stack", {},
    el("legend", {}, question.team_id && `${nameOf(run, question.team_id)}: `, t(`decide_${question.asked}`)),
    question.problem && el("p.notice.bad", {}, question.problem),
    el("p", {}, question.description),
    argumentDetails(question.args),
    el("div.row.actions", {}, choices),
    below);
  return { id: question.id, node, choice: () => chosen, answer: () => answer() };
}

/** Values as a person reads them: lists as lists, the rest as text. */
function argumentDetails(args) {
  return el("div.small", {}, Object.entries(args).map(([name, value]) => el("details", { open: Array.isArray(value) }, el("summary", {}, shownName(name)),
    Array.isArray(value) ? el("ul", {}, value.map((each) => el("li", {}, plain(each)))) : el("pre", {}, plain(value)))));
}

const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

function rejecting(question, below) {
  const reason = el("textarea", { rows: 2 });
  refill(below, el("label.field", {}, el("span.label", {}, t(`reason_${question.asked}`)), reason));
  reason.focus();
  return () => ({ type: "reject", reason: reason.value });
}

/** Texts in fields of their own, lists of texts a line each, all else as JSON. */
function editing(question, below) {
  const fields = Object.entries(question.args).map(([name, value]) => {
    const isLines = Array.isArray(value) && value.every((each) => typeof each === "string");
    const isText = typeof value === "string";
    const text = isText ? value : isLines ? value.join("\n") : JSON.stringify(value, null, 1);
    const control = el("textarea", { rows: Math.min(10, text.split("\n").length + 1) }, text);
    const read = () => {
      if (isText) return control.value;
      return isLines ? control.value.split("\n").map((line) => line.trim()).filter(Boolean) : JSON.parse(control.value);
    };
    return { name, control, read };
  });
  refill(below, el("p.small", {}, t("edit_hint")), fields.map((each) => el("label.field", {}, el("span.label", {}, shownName(each.name)), each.control)));
  fields[0].control.focus();
  return () => ({ type: "edit", args: Object.fromEntries(fields.map((each) => [each.name, each.read()])) });
}
