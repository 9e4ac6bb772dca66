/** A playbook: its lessons, its versions, what each changed. */

import { api } from "./api.js";
import { el, refill } from "./dom.js";
import { problem } from "./ask.js";
import { t, when } from "./words.js";

export function showPlaybook(main, [dataset, version]) {
  const body = el("div.stack", {}, el("p.quiet", {}, t("loading")));
  refill(main, el("div.stack", {}, el("h1", {}, dataset ? [el("a", { href: "#/playbook" }, t("playbook")), ` · ${dataset}`] : t("playbook")), body));
  const drawn = dataset ? onePlaybook(dataset, version === undefined ? undefined : Number(version)) : allPlaybooks();
  drawn.then((parts) => refill(body, parts)).catch((error) => refill(body, problem(error)));
}

async function allPlaybooks() {
  const { playbooks } = await api.playbooks();
  if (!playbooks.length) return el("p.quiet", {}, t("no_lessons"));
  return playbooks.map((each) => el("section.card", {}, el("h2", {}, el("a", { href: `#/playbook/${encodeURIComponent(each.dataset)}` }, each.dataset)),
    el("p.small.quiet", {}, `${t("lessons", { n: each.bullets })} · ${t("version", { n: each.version })}`)));
}

async function onePlaybook(dataset, version) {
  const [playbook, { versions }] = await Promise.all([api.playbook(dataset, version), api.versions(dataset)]);
  return [
    el("section.card", {}, el("h2", {}, t("versions")), el("ul.small", {}, versions.map((each) => el("li", {},
      el("a", { href: `#/playbook/${encodeURIComponent(dataset)}/${each.version}`, "aria-current": each.version === playbook.version ? "true" : null }, t("version", { n: each.version })),
      ` · ${when(each.saved_at)} · ${changes(each)}`)))),
    el("section.card", {}, el("h2", {}, `${t("version", { n: playbook.version })} · ${t("lessons", { n: playbook.bullets.length })}`),
      playbook.bullets.length ? lessons(playbook.bullets) : el("p.quiet", {}, t("no_lessons")),
      el("p.small.quiet", {}, t("change_lessons"), " ", el("code", {}, `contend playbook edit ${dataset} ID LESSON`), " · ", el("code", {}, `contend playbook rm ${dataset} ID`),
        " · ", el("code", {}, `contend playbook rollback ${dataset} ${playbook.version}`))),
  ];
}

/** How a version came about: what was added, changed, deleted. */
function changes(version) {
  const counts = Object.groupBy(version.delta_items, (item) => item.operation);
  const operations = Object.entries(counts).map(([operation, items]) => t(`n_${operation}`, { n: items.length }));
  return [version.reason, ...operations].filter(Boolean).join(" · ");
}

function lessons(bullets) {
  return el("div.scroll", {}, el("table.lessons", {},
    el("thead", {}, el("tr", {}, el("th", {}, t("section")), el("th", {}, t("lesson")), el("th.number", {}, t("helpful")), el("th.number", {}, t("harmful")))),
    el("tbody", {}, bullets.map((bullet) => el("tr", {},
      el("td.small", {}, bullet.section, " ", el("code", {}, bullet.id), bullet.status !== "active" && [" ", el("span.pill.warn", {}, t(bullet.status))]),
      el("td", {}, bullet.content, bullet.example && ` (${bullet.example})`),
      el("td.number", {}, bullet.helpful), el("td.number", {}, bullet.harmful))))));
}
