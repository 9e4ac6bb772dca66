/** The report: outline and text, whose statements show what they rest on. */

import { Marked } from "./vendor/marked.js";
import DOMPurify from "./vendor/purify.js";
import { api } from "./api.js";
import { el, reachable, refill } from "./dom.js";
import { saveFile } from "./problem.js";
import { t } from "./words.js";

// Tags in a report are text that somebody wrote: they are shown, not read.
const marked = new Marked({ gfm: true, tokenizer: { html: () => undefined, tag: () => undefined } });
const SAFE = { RETURN_DOM_FRAGMENT: true, FORBID_TAGS: ["img", "svg", "math", "style", "form", "input", "iframe", "audio", "video"], FORBID_ATTR: ["style", "id", "name"] };

/** Markdown of a report or draft: no HTML of its own, no image; links leave in a new tab. */
export function markdownInto(node, markdown) {
  const fragment = DOMPurify.sanitize(marked.parse(markdown), SAFE);
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  refill(node, fragment);
  mendTables(node);
  return node;
}

/** Tables that scroll are reached by the keyboard, and a head without a name is a cell like others. */
function mendTables(node) {
  node.querySelectorAll("table").forEach(reachable);
  node.querySelectorAll("th:empty").forEach((head) => head.replaceWith(el("td")));
}

/** The finished report of a run, as its HTML file has it; what its statements rest on opens by proofs.js. */
export async function reportView(run) {
  const page = await api.report(run, "html");
  const article = el("article", { lang: /<html lang="(\w+)"/.exec(page)?.[1] });
  // Without its head: the page's policy allows no style but its own.
  const main = page.slice(page.indexOf("<main>"), page.lastIndexOf("</main>"));
  refill(article, DOMPurify.sanitize(main, { ...SAFE, FORBID_ATTR: ["style", "name"], FORBID_TAGS: [...SAFE.FORBID_TAGS, "main"] }));
  mendTables(article);
  article.addEventListener("click", followWithin);
  return el("div", {}, exports(run), el("div.reader", {}, outline(article), article));
}

/** Links from citation to reference and back: an address with a hash names a view of the page. */
function followWithin(event) {
  const link = event.target.closest("a");
  if (!link) return;
  const target = link.getAttribute("href")?.startsWith("#") && document.getElementById(link.getAttribute("href").slice(1));
  if (target) {
    event.preventDefault();
    target.scrollIntoView({ block: "center" });
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
  } else {
    link.target = "_blank";
  }
}

const FORMATS = ["md", "html", "pdf", "docx", "json", "bibtex", "csv", "statements"];
const ENDINGS = { bibtex: "bib", statements: "statements.csv" };

function exports(run) {
  const wrong = el("div");
  const save = (format) => saveFile(api.reportFile(run, format), `report.${ENDINGS[format] ?? format}`, wrong);
  return [el("p.row.actions.small", {}, el("span.quiet", {}, t("export")),
    FORMATS.map((format) => el("button.plain", { type: "button", onclick: () => save(format) }, format)),
    el("button.plain", { type: "button", onclick: () => print() }, t("print"))), wrong];
}

function outline(article) {
  const items = [...article.querySelectorAll("h2, h3")].map((heading) => {
    const jump = (event) => {
      event.preventDefault();
      heading.scrollIntoView({ behavior: "smooth" });
    };
    return el(heading.tagName === "H3" ? "li.deep" : "li", {}, el("a", { href: location.hash, onclick: jump }, heading.textContent));
  });
  return el("nav", { "aria-label": t("outline") }, el("h2", {}, t("outline")), el("ol", {}, items));
}
