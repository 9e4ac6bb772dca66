/** A playbook: its lessons, which a person adds, edits, retires and restores; its versions, what each changed, and the way back. */

import { api } from "./api.js";
import { interval, rowChart } from "./charts.js";
import { el, field, refill } from "./dom.js";
import { problem } from "./problem.js";
import { percent, t, when } from "./words.js";

const FIRST_VERSIONS = 10;

export function showPlaybook(main, [dataset, version]) {
  const body = el("div.stack", {}, el("p.quiet", {}, t("loading")));
  refill(main, el("div.stack", {}, el("h1", {}, dataset ? [el("a", { href: "#/playbook" }, t("playbook")), ` · ${dataset}`] : t("playbook")), body));
  const view = dataset ? openPlaybook(body, dataset, version === undefined ? undefined : Number(version)) : allPlaybooks(body);
  view.catch((error) => refill(body, problem(error)));
}

async function allPlaybooks(body) {
  const { playbooks } = await api.playbooks();
  const open = (event) => {
    event.preventDefault();
    location.hash = addressOf(new FormData(event.target).get("dataset").trim());
  };
  refill(body,
    playbooks.length ? null : el("p.quiet", {}, t("no_lessons")),
    playbooks.map((each) => el("section.card", {}, el("h2", {}, el("a", { href: addressOf(each.dataset) }, each.dataset)),
      each.problem ? el("p.small.unmet", {}, each.problem) : el("p.small.quiet", {}, `${t("lessons", { n: each.bullets })} · ${t("version", { n: each.version })}`))),
    el("form.card.stack", { onsubmit: open }, field(t("other_playbook"), el("input", { name: "dataset", required: true, maxlength: 64, placeholder: "default" }), t("dataset_hint")),
      el("div.row.actions", {}, el("button", { type: "submit" }, t("open")))));
}

const addressOf = (dataset, version) => `#/playbook/${encodeURIComponent(dataset)}${version === undefined ? "" : `/${version}`}`;

/** The playbook in a node, read again after each change. Without a `version` it is the newest, which may be changed. */
async function openPlaybook(body, dataset, version) {
  const notice = el("div.outcome", { role: "status", tabindex: "-1" });
  const content = el("div.stack");
  const read = async () => {
    const { versions } = await orElse(api.versions(dataset), { versions: [] });
    try {
      const playbook = await orElse(api.playbook(dataset, version), version === undefined && { version: 0, bullets: [] });
      const { bullets: retired } = await orElse(api.retired(dataset), { bullets: [] });
      const newest = version === undefined ? playbook.version : (versions[0]?.version ?? version);
      refill(content, parts({ dataset, playbook, versions, retired, newest, isOld: playbook.version < newest }, change));
    } catch (error) {
      if (error.status !== 503 || !versions.length) throw error;
      // Its file is damaged: of what is there each version of the history can take its place.
      refill(content, problem(error), history({ dataset, versions }, actions(dataset, versions[0].version, change)));
    }
  };
  const closeButton = () => el("button.plain", { type: "button", onclick: () => refill(notice) }, t("close"));
  const load = async () => {
    refill(notice);
    await read();
  };
  /** Make a change and show what came of it; `step` makes it and gives the line that says so. What is wrong goes to `wrong`. */
  const change = async (step, wrong = notice) => {
    refill(notice);
    refill(wrong);
    try {
      const line = await step();
      if (version !== undefined) {
        location.hash = addressOf(dataset);
        return;
      }
      await read();
      refill(notice, el("p.notice.row.spread", {}, el("span", {}, line), closeButton()));
    } catch (error) {
      refill(wrong, problem(error), el("p.actions.row", {}, error.status === 409 && el("button", { type: "button", onclick: load }, t("show_newest")), wrong === notice && closeButton()));
    }
    if (document.activeElement === document.body) notice.focus({ preventScroll: true });
  };
  await read();
  refill(body, notice, content);
}

/** What a request gives; where there is nothing, `otherwise`, if there may be nothing. */
const orElse = (request, otherwise) => request.catch((error) => {
  if (error.status === 404 && otherwise) return otherwise;
  throw error;
});

/** What the server answered to a change. */
function savedLine(result) {
  if (result.delta_items.length) return t("saved_version", { n: result.playbook_version });
  return result.skipped.length ? t("stands_already") : t("nothing_changed");
}

/** What a person may change of the version `newest`. */
function actions(dataset, newest, change) {
  return {
    add: (values, wrong) => change(async () => savedLine(await api.addLesson(dataset, values, newest)), wrong),
    edit: (bullet, values, wrong) => change(async () => savedLine(await api.editLesson(dataset, bullet.id, values, newest)), wrong),
    retire: (bullet) => change(async () => savedLine(await api.retireLesson(dataset, bullet.id, newest))),
    restore: (bullet) => change(async () => savedLine(await api.restoreLesson(dataset, bullet.id, newest))),
    rollBack: (number) => change(async () => t("saved_version", { n: (await api.rollBack(dataset, number, newest)).version })),
  };
}

function parts(view, change) {
  const { dataset, playbook, newest, isOld } = view;
  const act = actions(dataset, newest, change);
  return [
    isOld && el("p.notice.warn.row", {}, el("span", {}, t("old_version", { n: playbook.version, newest })), el("a", { href: addressOf(dataset) }, t("show_newest"))),
    el("section.card", {}, el("h2", {}, `${t("version", { n: playbook.version })} · ${t("lessons", { n: playbook.bullets.length })}`),
      effectsPlot(playbook.bullets),
      playbook.bullets.length ? lessonList(playbook.bullets, isOld ? null : act) : el("p.quiet", {}, t("no_lessons"))),
    isOld ? null : [additionForm(playbook, act), view.retired.length ? retiredLessons(view.retired, act) : null],
    view.versions.length ? history(view, act) : null,
  ];
}

/** Lessons by section, the most trusted first; `act` null: they can only be read. */
function lessonList(bullets, act) {
  const bySection = Object.groupBy(bullets.toSorted((one, other) => other.confidence - one.confidence), (bullet) => bullet.section);
  const sections = Object.keys(bySection).toSorted();
  return sections.map((section) => [el("h3", {}, section), el("ul.lessons", { "aria-label": section },
    bySection[section].map((bullet) => lesson(bullet, act, sections)))]);
}

function lesson(bullet, act, sections) {
  const item = el("li");
  const show = () => refill(item, words(bullet), el("p.small.quiet", {}, facts(bullet)), el("div.row.actions", {}, act && [
    el("button.plain", { type: "button", "data-key": `edit ${bullet.id}`, onclick: edit, "aria-label": `${t("edit")}: ${bullet.content}` }, t("edit")),
    el("button.plain", { type: "button", onclick: () => act.retire(bullet), "aria-label": `${t("retire")}: ${bullet.content}` }, t("retire"))]));
  const cancel = () => {
    show();
    item.querySelector("button").focus();
  };
  const edit = () => {
    const form = lessonForm({ bullet, sections, key: `edit ${bullet.id}`, save: (values, wrong) => act.edit(bullet, values, wrong), cancel });
    refill(item, form);
    form.querySelector("textarea").focus();
  };
  show();
  return item;
}

const words = (bullet) => el("p", {}, bullet.content, bullet.example && ` (${bullet.example})`);

/** What is known of a lesson: its votes, whether it is on trial, what speaks against it. */
function facts(bullet) {
  const trust = [`${t("trust")} ${percent(bullet.confidence)} %`, `${t("helpful")} ${bullet.helpful}`, `${t("harmful")} ${bullet.harmful}`, bullet.always && t("always"), effectOf(bullet.trial)];
  return [trust.filter(Boolean).join(" · "), " ", el("code", {}, bullet.id),
    bullet.status !== "active" && [" ", el("span.pill.warn", {}, t(bullet.status))],
    bullet.conflicts_with && [" ", el("span.pill.warn", {}, t("conflicts", { id: bullet.conflicts_with }))],
    bullet.removal_reason && el("span.unmet", {}, " ", t("wants_removed", { why: bullet.removal_reason }))];
}

/** By how much teams that were shown the lesson scored higher than those that were not, where runs tried both. */
function effectOf({ difference, withheld }) {
  if (!withheld || difference === null) return null;
  return t("effect", { difference: `${difference < 0 ? "−" : "+"}${percent(Math.abs(difference))}`, n: withheld });
}

/** The effects of the lessons that runs tried both with and without, in points, each with its 95 % interval once two runs did. */
function effectsPlot(bullets) {
  const tried = bullets.filter(({ trial }) => trial.withheld && trial.difference !== null);
  if (!tried.length) return null;
  const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;
  const effects = tried.map(({ content, trial: { difference, withheld, spread } }) => {
    const half = withheld > 1 && spread !== null ? 196 * Math.sqrt(spread / (withheld - 1) / withheld) : 0;
    return { name: content.length > 60 ? `${content.slice(0, 59)}…` : content, value: difference * 100, range: [difference * 100 - half, difference * 100 + half], isKnown: half > 0 };
  });
  const [low, high] = [Math.min(0, ...effects.map(({ range }) => range[0])), Math.max(0, ...effects.map(({ range }) => range[1]))];
  const figure = ({ value, range, isKnown }) => signed(value) + (isKnown ? ` (${range.map(signed).join(" … ")})` : "");
  const rows = effects.map((effect) => ({ name: effect.name, figure: figure(effect), draw: (x) => interval(x, effect.value, effect.range) }));
  const label = `${t("effects")}: ${effects.map((effect) => `${effect.name} ${figure(effect)}`).join("; ")}`;
  return el("figure", {}, rowChart(label, { low, high, rows, ends: [signed(low), signed(high)] }), el("figcaption.small.quiet", {}, t("effects")));
}

/** The fields of a lesson. `bullet`: the one to edit; only what differs from it is sent. */
function lessonForm({ bullet = null, sections, key, save, cancel = null }) {
  const wrong = el("div");
  const input = (name, attributes) => el("input", { name, type: "text", value: bullet?.[name] ?? "", autocomplete: "off", ...attributes });
  const choices = el("datalist", { id: `sections ${key}`.replaceAll(" ", "-") }, sections.map((value) => el("option", { value })));
  let isSaving = false;
  const submit = async (event) => {
    event.preventDefault();
    const values = valuesOf(form, bullet);
    if (!Object.keys(values).length) return cancel();
    // A button that is disabled loses the focus, which is to come back to the lesson.
    if (isSaving) return null;
    isSaving = true;
    await save(values, wrong);
    isSaving = false;
    return null;
  };
  const leave = (event) => event.key === "Escape" && cancel?.();
  const form = el("form.stack", { onsubmit: submit, onkeydown: leave, "aria-label": t(bullet ? "edit" : "add_lesson") },
    field(t("lesson"), el("textarea", { name: "content", rows: 3, required: true, maxlength: 2000, "data-key": key }, bullet?.content ?? ""), t("lesson_hint")),
    el("div.grid", {}, field(t("example"), input("example", { maxlength: 500 })), field(t("section"), input("section", { maxlength: 64, placeholder: "general", list: choices.id }))),
    choices,
    el("label.check", {}, el("input", { type: "checkbox", name: "always", checked: bullet?.always ?? false }), t("always")),
    wrong,
    el("div.row.actions", {}, el("button.main", { type: "submit", "data-key": key }, t(bullet ? "save" : "add")), cancel && el("button", { type: "button", onclick: cancel }, t("undo_edit"))));
  return form;
}

function valuesOf(form, bullet) {
  const fields = new FormData(form);
  const text = (name) => fields.get(name).trim();
  const values = { content: text("content"), example: text("example"), section: text("section") || "general", always: fields.has("always") };
  return bullet ? Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== bullet[name])) : values;
}

function additionForm(playbook, act) {
  const sections = [...new Set(playbook.bullets.map((bullet) => bullet.section))];
  return el("details.card", { "data-key": "adding", open: !playbook.bullets.length }, el("summary", {}, t("add_lesson")),
    el("div.stack", {}, lessonForm({ sections, key: "add", save: act.add })));
}

function retiredLessons(retired, act) {
  return el("details.card", { "data-key": "retired" }, el("summary", {}, t("retired", { n: retired.length })), el("ul.lessons", {}, retired.map((bullet) => el("li", {},
    words(bullet), el("p.small.quiet", {}, facts(bullet)),
    el("div.row.actions", {}, el("button.plain", { type: "button", onclick: () => act.restore(bullet), "aria-label": `${t("restore")}: ${bullet.content}` }, t("restore")))))));
}

function history(view, act) {
  const items = view.versions.map((each, place) => versionItem(view, each, view.versions[place + 1]?.version ?? 0, act));
  const older = items.slice(FIRST_VERSIONS);
  return el("section.card", {}, el("h2", {}, t("versions")), el("ul.lessons.small", {}, items.slice(0, FIRST_VERSIONS)),
    older.length ? el("details", { "data-key": "older" }, el("summary", {}, t("older_versions", { n: older.length })), el("ul.lessons.small", {}, older)) : null);
}

function versionItem({ dataset, playbook, newest }, each, before, act) {
  const isNewest = each.version === newest;
  const back = isNewest ? before : each.version;
  // Of a playbook that somebody else wrote there is nothing before its first version.
  const canGoBack = !isNewest || back === each.version - 1;
  return el("li", {}, el("div.row", {},
    el("a", { href: addressOf(dataset, isNewest ? undefined : each.version), "aria-current": each.version === playbook?.version ? "true" : null }, t("version", { n: each.version })),
    el("span", {}, `${when(each.saved_at)} · ${changes(each)}`),
    canGoBack && el("button.plain", { type: "button", onclick: () => act.rollBack(back), "aria-label": `${t(isNewest ? "undo" : "go_back")}: ${t("version", { n: each.version })}` }, t(isNewest ? "undo" : "go_back"))),
  differences(dataset, before, each.version));
}

/** What a version changed, read when it is opened. */
function differences(dataset, first, second) {
  const lines = el("div", {}, el("p.quiet", {}, t("loading")));
  const show = async (event) => {
    if (!event.target.open) return;
    try {
      refill(lines, differenceLines(await api.difference(dataset, first, second)));
    } catch (error) {
      refill(lines, problem(error));
    }
  };
  return el("details", { ontoggle: show, "data-key": `diff ${second}` }, el("summary", {}, t("what_changed")), lines);
}

const LESSON_FIELDS = ["content", "example", "section", "always", "helpful", "harmful", "status"];

function differenceLines({ added, removed, changed }) {
  const fieldLines = ({ before, after }) => LESSON_FIELDS.filter((name) => before[name] !== after[name]).map((name) => el("div.small.quiet", {},
    `${t(name === "content" ? "lesson" : name)}: `, el("del", {}, valueText(name, before[name])), " ", el("ins", {}, valueText(name, after[name]))));
  const lines = [...added.map((bullet) => el("li", {}, "+ ", el("ins", {}, bullet.content))), ...removed.map((bullet) => el("li", {}, "− ", el("del", {}, bullet.content))),
    ...changed.map((each) => el("li", {}, "~ ", each.after.content, fieldLines(each)))];
  return lines.length ? el("ul.plain", {}, lines) : el("p.quiet", {}, t("nothing_differs"));
}

function valueText(name, value) {
  if (typeof value === "boolean") return value ? "✓" : "–";
  return name === "status" ? t(value) : String(value) || "–";
}

const WAYS = { "learned from a run": "way_run", "added by hand": "way_add", "edited by hand": "way_edit", "removed by hand": "way_remove", "restored by hand": "way_restore" };

/** How a version came about: why, and what was added, changed, deleted. */
function changes(version) {
  const [, fileName] = version.reason.match(/^imported from (.*)$/) ?? [];
  const [, oldNumber] = version.reason.match(/^rolled back to version (\d+)$/) ?? [];
  const way = fileName ? t("way_import", { what: fileName }) : oldNumber ? t("way_back", { n: oldNumber }) : version.reason in WAYS ? t(WAYS[version.reason]) : version.reason;
  const counts = Object.groupBy(version.delta_items, (item) => item.operation);
  const operations = Object.entries(counts).map(([operation, items]) => t(`n_${operation}`, { n: items.length }));
  return [way, ...operations].filter(Boolean).join(" · ");
}
