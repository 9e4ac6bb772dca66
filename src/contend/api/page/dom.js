/** Elements without markup: whatever text comes from a model or a page stays text. */

/**
 * An element. Attributes that start with "on" are listeners; true sets an empty attribute; null and false leave it out.
 * @param {string} tag a tag, with classes: "p.quiet"
 */
export function el(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node && typeof value !== "string") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  add(node, children);
  return node;
}

/** Append children: nodes, texts, lists of them; null and false are left out. */
export function add(node, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child);
  }
  return node;
}

/** Put new children in place of the old ones; what is focused or open stays so where its `data-key` stays. */
export function refill(node, ...children) {
  const focused = document.activeElement?.closest("[data-key]")?.dataset.key;
  const open = new Map([...node.querySelectorAll("details[data-key]")].map((each) => [each.dataset.key, each.open]));
  node.replaceChildren();
  add(node, children);
  for (const each of node.querySelectorAll("details[data-key]")) {
    if (open.has(each.dataset.key)) each.open = open.get(each.dataset.key);
  }
  if (focused) node.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  return node;
}

/**
 * The button that shows all of a text of which the first lines stand there (`.folded` in the style sheet), and folds it
 * again. It is there only where lines are hidden. Screen readers read the whole text in any case.
 */
export function foldButton(text, { more, less }) {
  const button = el("button.plain.small", { type: "button", hidden: true, "aria-expanded": "false", onclick: turn }, more);
  function turn() {
    const isFolded = text.classList.toggle("folded");
    button.setAttribute("aria-expanded", String(!isFolded));
    button.textContent = isFolded ? more : less;
  }
  const look = () => { if (text.classList.contains("folded")) button.hidden = text.scrollHeight <= text.clientHeight; };
  new ResizeObserver(look).observe(text);
  return button;
}

/** Let what scrolls sideways be reached by the keyboard, as long as it does: its own size counts, and its content's. */
export function reachable(node) {
  const look = () => node.toggleAttribute("tabindex", node.scrollWidth > node.clientWidth) && node.setAttribute("tabindex", "0");
  const observer = new ResizeObserver(look);
  [node, ...node.children].forEach((each) => observer.observe(each));
  return node;
}

/** A table with a row of heads; the heads and cells of `rows` are elements of their own. It scrolls where it is too wide. */
export const table = (heads, rows, kind = "table") =>
  reachable(el("div.scroll", {}, el(kind, {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows.map((cells) => el("tr", {}, cells))))));

/** A labelled field of a form, with a hint below it. */
export function field(label, control, hint = "") {
  return el("label.field", {}, el("span.label", {}, label), control, hint && el("span.hint", {}, hint));
}

export function options(control, choices, selection) {
  for (const [value, text] of choices) control.append(el("option", { value, selected: value === selection }, text));
  return control;
}
