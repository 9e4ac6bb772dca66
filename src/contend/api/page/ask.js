/** The first view: watch a recorded run, or ask a question, see what it may cost, start; recent runs below. */

import { api, newId } from "./api.js";
import { attachments } from "./attachments.js";
import { add, el, field, options, refill } from "./dom.js";
import { runList } from "./history.js";
import { problem } from "./problem.js";
import { language, number, t } from "./words.js";

export function showAsk(main, _rest, query) {
  const health = el("div.stack");
  const recent = el("div");
  const runs = el("section.card", {}, el("h2", {}, t("recent")), recent);
  const form = askForm({ theme: query.get("theme") ?? "", thread: query.get("thread") ?? "" });
  const below = el("div.stack");
  refill(main, el("div.stack", {}, el("h1", {}, t("ask")), health, form.node, below, runs));
  form.node.querySelector("textarea").focus();
  api.health().then((server) => {
    // Who has no model can do nothing better first.
    const isKeyless = !server.language_model;
    refill(health, isKeyless && [server.demo && demoCard(true), el("p.notice", {}, t("no_model"))]);
    refill(below, !isKeyless && server.demo && demoCard(false));
    form.offer(server);
  }).catch((error) => refill(health, problem(error)));
  const all = (page) => page.total > page.items.length && el("p", {}, el("a", { href: "#/history" }, t("all_runs")));
  const list = runList(recent, () => api.list("", 0, 5), all);
  addEventListener("pagehide", form.leave);
  return () => { list.stop(); form.leave(); removeEventListener("pagehide", form.leave); };
}

const demos = () => [language() === "ja" ? "ja" : "contest", "steps"];

/** The way to the recorded runs, shown at a pace that one can follow. */
function demoCard(isFirst) {
  const notice = el("div");
  const play = async (event, name) => {
    event.target.disabled = true;
    try {
      const { research_id } = await api.demo(name);
      location.hash = `#/run/${research_id}/watch?show`;
    } catch (error) {
      event.target.disabled = false;
      refill(notice, problem(error));
    }
  };
  const offer = (name, place) => el("div", {},
    el(isFirst && place === 0 ? "button.main" : "button", { type: "button", onclick: (event) => play(event, name), "aria-describedby": `demo-${name}` }, t(`demo_${name}`)),
    el("p.small", { id: `demo-${name}` }, t(`demo_${name}_hint`)));
  return el("section.card.stack.demo", { "aria-label": t("demo") }, el("p", {}, t("demo_hint")), el("div.grid", {}, demos().map(offer)), notice);
}

/**
 * The form of a question. `thread`: the run whose conversation it goes on with.
 * @returns `node`; `offer`, to show the teams that the server has; `leave`, when nothing was asked.
 */
export function askForm({ theme = "", thread = "", compact = false }) {
  const run = thread || newId();
  const files = attachments(run, { isNew: !thread });
  const notice = el("div");
  const teams = el("fieldset", { hidden: true });
  const question = el("textarea", { name: "theme", required: true, maxlength: 8000, rows: compact ? 2 : 4 }, theme);
  const fill = (text) => { question.value = text; question.focus(); };
  const examples = el("div.row.chips", { role: "group", "aria-label": t("examples") }, el("span.small.quiet", { "aria-hidden": "true" }, t("examples")),
    ["example_decide", "example_differ", "example_know"].map((key) => el("button.chip", { type: "button", onclick: () => fill(t(key)) }, t(key))));
  const input = (name, attributes = {}) => el("input", { name, ...attributes });
  const form = el("form.card.stack", { onsubmit: (event) => start(event, { form, notice, thread, run, files }), ondragover: files.drop, ondrop: files.drop },
    field(t(thread ? "again" : "question"), question, compact ? "" : t("question_hint")),
    !thread && examples,
    el("div.grid", {},
      field(t("depth"), options(el("select", { name: "depth" }), ["auto", "quick", "standard", "deep"].map((each) => [each, t(`depth_${each}`)]), thread ? "quick" : "auto")),
      field(t("length"), options(el("select", { name: "length" }), [["", t("length_default")], ...["brief", "standard", "long"].map((each) => [each, t(`length_${each}`)])], "")),
      field(t("report_language"), options(el("select", { name: "language" }), [["", t("as_asked")], ["en", "English"], ["ja", "日本語"]], ""))),
    files.node,
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
      el("button", { type: "button", onclick: () => showEstimate({ form, notice, files }) }, t("estimate"))));
  const offer = (server) => {
    if (!server.teams?.length) return;
    refill(teams, el("legend", {}, t("teams")), el("p.hint", {}, t("teams_hint")), el("div.row", {}, server.teams.map((team) => check("teams", team, team))));
    teams.hidden = false;
  };
  return { node: form, offer, leave: files.discard };
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

/** The request, once the files that it is about are on the server. */
async function requestWithFiles({ form, notice, files }) {
  const request = requestOf(form);
  const folder = await files.send((name) => refill(notice, el("p.quiet", { role: "status" }, t("sending", { name }))));
  if (folder) request.options.documents = [folder, ...(request.options.documents ?? [])];
  return request;
}

async function start(event, asked) {
  const { form, notice, thread, run, files } = asked;
  event.preventDefault();
  refill(notice, el("p.quiet", { role: "status" }, t("starting")));
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  try {
    const request = await requestWithFiles(asked);
    await (thread ? api.followUp(run, request) : api.start(run, request));
    files.keep();
    const target = `#/run/${run}`;
    if (location.hash.startsWith(target)) dispatchEvent(new HashChangeEvent("hashchange"));
    location.hash = target;
  } catch (error) {
    refill(notice, problem(error));
  } finally {
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  }
}

async function showEstimate(asked) {
  const { form, notice } = asked;
  if (!form.reportValidity()) return;
  refill(notice, el("p.quiet", { role: "status" }, t("estimating")));
  try {
    const estimate = await api.dryRun(await requestWithFiles(asked));
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
