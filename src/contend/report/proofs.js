/** Statements of a report open what they rest on, on hover, focus and tap; Escape closes it. Buttons dim the others. */
"use strict";
(() => {
  const SOON = 150, LATE = 250, GAP = 6;
  let shown = null, timer = 0;

  const within = (target, selector) => (target instanceof Element ? target.closest(selector) : null);
  const statementOf = (target) => within(target, ".s[aria-describedby]");
  const proofOf = (statement) => document.getElementById(statement.getAttribute("aria-describedby"));

  function close() {
    clearTimeout(timer);
    if (!shown) return;
    shown.statement.classList.remove("open");
    shown.proof.classList.remove("open");
    shown = null;
  }

  function open(statement) {
    clearTimeout(timer);
    const proof = proofOf(statement);
    if (!proof || shown?.statement === statement) return;
    close();
    shown = { statement, proof };
    statement.classList.add("open");
    proof.classList.add("open");
    place(statement, proof);
  }

  /** Below the statement's last line; above its first where only there is room. */
  function place(statement, proof) {
    const frame = proof.offsetParent.getBoundingClientRect(), lines = [...statement.getClientRects()];
    const first = lines[0], last = lines[lines.length - 1], { width, height } = proof.getBoundingClientRect();
    const isAbove = last.bottom + GAP + height > innerHeight && first.top - GAP - height > 0;
    const top = isAbove ? first.top - GAP - height : last.bottom + GAP;
    const left = Math.min(Math.max(0, last.left - frame.left), Math.max(0, frame.width - width));
    proof.style.top = `${top - frame.top}px`;
    proof.style.left = `${left}px`;
  }

  function later(wait, action) {
    clearTimeout(timer);
    timer = setTimeout(action, wait);
  }

  document.addEventListener("mouseover", ({ target }) => {
    const statement = statementOf(target);
    if (statement) later(SOON, () => open(statement));
    else if (within(target, ".proof")) clearTimeout(timer);
    else later(LATE, () => { if (!shown?.statement.contains(document.activeElement)) close(); });
  });
  document.addEventListener("focusin", ({ target }) => {
    const statement = statementOf(target);
    if (statement) open(statement);
    else if (!within(target, ".proof")) close();
  });
  document.addEventListener("click", ({ target }) => {
    const statement = statementOf(target);
    if (statement) open(statement);
    else if (!within(target, ".proof")) close();
  });
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape") close(); });

  document.addEventListener("click", ({ target }) => {
    const button = within(target, "button.filter");
    if (!button) return;
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    const report = button.closest(".report");
    const kinds = [...report.querySelectorAll("button.filter[aria-pressed=true]")].map((each) => each.dataset.filter);
    for (const statement of report.querySelectorAll(".s")) {
      statement.classList.toggle("dim", kinds.length > 0 && !kinds.some((kind) => statement.classList.contains(kind)));
    }
  });
  document.documentElement.classList.add("scripted");
})();
