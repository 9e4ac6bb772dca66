/** The first view: ask a question, see what it may cost, start; recent runs below. */

import { api } from "./api.js";
import { add, el, field, options, refill } from "./dom.js";
import { runList } from "./history.js";
import { problem } from "./problem.js";
import { number, t } from "./words.js";

export function showAsk(main, _rest, query) {
  const health = el("div");
  const recent = el("div");
  const runs = el("section.card", {}, el("h2", {}, t("recent")), recent);
  const form = askForm({ theme: query.get("theme") ?? "", thread: query.get("thread") ?? "" });
  refill(main, el("div.stack", {}, el("h1", {}, t("ask")), health, form.node, runs));
  form.node.querySelector("textarea").focus();
  api.health().then((server) => {
    if (!server.language_model) refill(health, el("p.notice", {}, t("no_model")));
    form.offer(server);
  }).catch((error) => refill(health, problem(error)));
  const all = (page) => page.total > page.items.length && el("p", {}, el("a", { href: "#/history" }, t("all_runs")));
  return runList(recent, () => api.list("", 0, 5), all).stop;
}

/**
 * The form of a question. `thread`: the run whose conversation it goes on with.
 * @returns `node`, and `offer` to show what the server has: its teams, the recorded demo.
 */
export function askForm({ theme = "", thread = "", compact = false }) {
  const notice = el("div");
  const teams = el("fieldset", { hidden: true });
  const demo = el("button", { type: "button", hidden: true, title: t("demo_hint"), onclick: () => begin(api.demo, form, notice) }, t("demo"));
  const input = (name, attributes = {}) => el("input", { name, ...attributes });
  const form = el("form.card.stack", { onsubmit: (event) => start(event, form, notice, thread) },
    field(t(thread ? "again" : "question"), el("textarea", { name: "theme", required: true, maxlength: 8000, rows: compact ? 2 : 4 }, theme), compact ? "" : t("question_hint")),
    el("div.grid", {},
      field(t("depth"), options(el("select", { name: "depth" }), ["auto", "quick", "standard", "deep"].map((each) => [each, t(`depth_${each}`)]), thread ? "quick" : "auto")),
      field(t("length"), options(el("select", { name: "length" }), [["", t("length_default")], ...["brief", "standard", "long"].map((each) => [each, t(`length_${each}`)])], "")),
      field(t("report_language"), options(el("select", { name: "language" }), [["", t("as_asked")], ["en", "English"], ["ja", "日本語"]], ""))),
    field(t("documents"), el("textarea", { name: "documents", rows: 2, spellcheck: false }), t("documents_hint")),
    el("details", {}, el("summary", {}, t("more")), el("div.stack", {},
      field(t("report_instructions"), el("textarea", { name: "instructions", rows: 3 }), t("instructions_hint")),
      el("fieldset", {}, el("legend", {}, t("limits")), el("div.grid", {},
        field(t("max_usd"), input("max_usd", { type: "number", min: "0.01", step: "0.01", placeholder: t("none") })),
        field(t("max_tokens"), input("max_tokens", { type: "number", min: "1", step: "1", placeholder: t("none") })),
        field(t("max_minutes"), input("max_minutes", { type: "number", min: "1", step: "1", placeholder: t("none") })))),
      el("fieldset", {}, el("legend", {}, t("approvals")), el("div.row", {}, ["plan", "report", "playbook"].map((each) => check("approve", each, t(`approve_${each}`))))),
      teams,
      field(t("dataset"), input("dataset", { placeholder: "default", pattern: "[^\\/\\\\]+" }), t("dataset_hint")),
      el("div.row", {}, check("learn", "on", t("learn"), true), check("synthesis", "on", t("synthesis"), true)))),
    notice,
    el("div.row.actions", {},
      el("button.main", { type: "submit" }, t("start")),
      el("button", { type: "button", onclick: () => showEstimate(form, notice) }, t("estimate")),
      demo));
  const offer = (server) => {
    demo.hidden = !server.demo;
    if (!server.teams?.length) return;
    refill(teams, el("legend", {}, t("teams")), el("p.hint", {}, t("teams_hint")), el("div.row", {}, server.teams.map((team) => check("teams", team, team))));
    teams.hidden = false;
  };
  return { node: form, offer };
}

const check = (name, value, text, checked = false) =>
  el("label.check", {}, el("input", { type: "checkbox", name, value, checked }), text);

/** The request that the form stands for; what is left open is left out, so that the server's defaults hold. */
function requestOf(form) {
  const formData = new FormData(form);
  const text = (name) => (formData.get(name) ?? "").trim();
  const chosen = {};
  for (const name of ["depth", "length", "language", "instructions", "dataset"]) if (text(name)) chosen[name] = text(name);
  for (const name of ["max_usd", "max_tokens", "max_minutes"]) if (text(name)) chosen[name] = Number(text(name));
  const documents = text("documents").split("\n").map((line) => line.trim()).filter(Boolean);
  if (documents.length) chosen.documents = documents;
  for (const name of ["approve", "teams"]) if (formData.getAll(name).length) chosen[name] = formData.getAll(name);
  for (const name of ["learn", "synthesis"]) if (!formData.has(name)) chosen[name] = false;
  return { theme: text("theme"), options: chosen };
}

function start(event, form, notice, thread) {
  event.preventDefault();
  const request = requestOf(form);
  begin(() => (thread ? api.followUp(thread, request) : api.start(request)), form, notice);
}

async function begin(ask, form, notice) {
  refill(notice, el("p.quiet", { role: "status" }, t("starting")));
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  try {
    const { research_id } = await ask();
    const target = `#/run/${research_id}`;
    if (location.hash.startsWith(target)) dispatchEvent(new HashChangeEvent("hashchange"));
    location.hash = target;
  } catch (error) {
    refill(notice, problem(error));
  } finally {
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  }
}

async function showEstimate(form, notice) {
  if (!form.reportValidity()) return;
  refill(notice, el("p.quiet", { role: "status" }, t("estimating")));
  try {
    const estimate = await api.dryRun(requestOf(form));
    refill(notice, el("p.notice", { role: "status" }, estimateLine(estimate)));
  } catch (error) {
    refill(notice, problem(error));
  }
}

function estimateLine(estimate) {
  const range = (low, high) => ({ low: number(low), high: number(high) });
  const line = [t("calls", range(...estimate.calls)), t("tokens", range(...estimate.tokens))];
  line.push(estimate.usd ? t("usd", { low: estimate.usd[0].toFixed(2), high: estimate.usd[1].toFixed(2) }) : t("no_price"));
  return add(el("span"), [`${estimate.teams.join(", ")} · ${estimate.sources.join(", ")}`, el("br"), line.join(" · ")]);
}
