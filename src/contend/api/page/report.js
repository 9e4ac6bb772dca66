/** The report: outline, text, and beside it the passages that a citation rests on. */

import { Marked } from "./vendor/marked.js";
import DOMPurify from "./vendor/purify.js";
import { api } from "./api.js";
import { el, refill } from "./dom.js";
import { saveFile } from "./problem.js";
import { t } from "./words.js";

// Tags in a report are text that somebody wrote: they are shown, not read.
const marked = new Marked({ gfm: true, tokenizer: { html: () => undefined, tag: () => undefined } });
const CITATION = /\[(\d{1,3}(?:[,–]\d{1,3})*)\]/g;
const SAFE = { RETURN_DOM_FRAGMENT: true, FORBID_TAGS: ["img", "svg", "math", "style", "form", "input", "iframe", "audio", "video"], FORBID_ATTR: ["style", "id", "name"] };

/** Markdown of a report or draft: no HTML of its own, no image; links leave in a new tab. */
export function markdownInto(node, markdown) {
  const fragment = DOMPurify.sanitize(marked.parse(markdown), SAFE);
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  refill(node, fragment);
  return node;
}

/** The finished report of a run. */
export async function reportView(run) {
  const [markdown, evidence] = await Promise.all([api.report(run, "md"), api.evidence(run)]);
  const article = markdownInto(el("article", { lang: evidence.language }), markdown);
  const aside = el("aside.evidence.empty", { "aria-label": t("evidence"), "aria-live": "polite" });
  clear(aside);
  linkCitations(article, evidence, (button, marks) => openEvidence(aside, button, marks));
  return el("div", {}, exports(run), el("div.reader", {}, outline(article), article, aside));
}

const FORMATS = ["md", "html", "pdf", "docx", "json", "bibtex", "csv"];

function exports(run) {
  const wrong = el("div");
  const save = (format) => saveFile(api.reportFile(run, format), `report.${format === "bibtex" ? "bib" : format}`, wrong);
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

/** The marks that [2] or [2,8–10] stands for, of those to come; none for what cites nothing. */
function marksOf(label, marks) {
  const numbers = label.split(",").flatMap((part) => {
    const [first, last = first] = part.split("–").map(Number);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, nth) => first + nth);
  });
  const next = marks.slice(0, numbers.length);
  return next.length === numbers.length && next.every(({ number }, nth) => number === numbers[nth]) ? next : [];
}

/** Make each mark a button. The marks of a report come in the order of its evidence's marks. */
function linkCitations(article, evidence, open) {
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("a, code, pre")) texts.push(walker.currentNode);
  let place = 0;
  for (const text of texts) {
    const parts = text.data.split(CITATION);
    if (parts.length === 1) continue;
    const nodes = [parts[0]];
    for (let nth = 1; nth < parts.length; nth += 2) {
      const [part, after] = parts.slice(nth, nth + 2);
      // What comes after the report's text, such as the list of its sources, cites nothing.
      const marks = marksOf(part, evidence.marks.slice(place));
      if (!marks.length) {
        nodes.push(`${nodes.pop()}[${part}]${after}`);
        continue;
      }
      place += marks.length;
      const citations = marks.map((mark) => ({ ...mark, source: evidence.sources[mark.number - 1] }));
      const title = citations.map(({ source }) => source.title).join("; ");
      const button = el(marks[0].doubt ? "button.cite.doubtful" : "button.cite", { type: "button", "aria-expanded": "false", title, onclick: () => open(button, citations) }, `[${part}]`);
      // Browsers end a line before a button: it keeps the last letter before it.
      const before = [...nodes.pop()];
      const letter = before.pop();
      nodes.push(before.join(""), el("span.cited", {}, letter, button), after);
    }
    text.replaceWith(...nodes);
  }
}

function clear(aside) {
  refill(aside, el("h2", {}, t("evidence")), el("p.small.quiet", {}, t("evidence_hint")));
  aside.classList.add("empty");
}

/** What a button's marks rest on: the sentence once, then each source with its passages. */
function openEvidence(aside, button, marks) {
  for (const other of document.querySelectorAll("button.cite[aria-expanded='true']")) other.setAttribute("aria-expanded", "false");
  button.setAttribute("aria-expanded", "true");
  aside.classList.remove("empty");
  // On a narrow screen the panel covers the lower half.
  if (getComputedStyle(aside).position === "fixed") button.scrollIntoView({ block: "start" });
  const close = () => {
    aside.parentElement.onkeydown = null;
    clear(aside);
    button.setAttribute("aria-expanded", "false");
    button.focus();
  };
  const { sentence, doubt } = marks[0];
  refill(aside,
    el("button.close", { type: "button", onclick: close, "aria-label": t("close") }, "✕"),
    sentence && markdownInto(el("div.small"), sentence),
    doubt && el("p.notice.warn.small", {}, `${t("doubtful")}: ${doubt}`),
    marks.map(sourceEvidence));
  aside.parentElement.onkeydown = (event) => { if (event.key === "Escape") close(); };
}

function sourceEvidence({ number, source, passages = [] }) {
  const facts = [source.source, source.published_date, ...(source.authors ?? [])].filter(Boolean).join(" · ");
  const isWeb = /^https?:/.test(source.url);
  return [
    el("h2", {}, `[${number}] ${source.title}`),
    el("p.small.quiet", {}, facts),
    passages.length ? passages.map((passage) => [passage.heading && el("h3", {}, passage.heading), el("blockquote", { tabindex: 0 }, passage.text)]) : el("p.small.quiet", {}, t("no_passage")),
    el("p.small", {}, isWeb ? el("a", { href: source.url, target: "_blank", rel: "noopener noreferrer nofollow" }, t("open_source")) : el("span.quiet", {}, source.shown_url)),
  ];
}
