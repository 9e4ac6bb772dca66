/** A recorded contest at a pace that one can follow: its events one after another, with pause, speed, and a way to any place. */

import { el } from "./dom.js";
import { t } from "./words.js";

/** How long an event stands before the next one, in milliseconds: what decides a contest longest. */
const STANDS = { run_started: 3000, criteria_set: 3500, round_scored: 2600, round_judged: 1800, report_merged: 4000, winner_picked: 3000, learned: 3000, search_done: 700 };
const USUALLY = 1100;
const SPEEDS = [0.5, 1, 2, 4, 8];

/**
 * @param show is given the events up to the place that is shown, and whether they are all.
 * @param say what has just happened, in a line.
 * @param end what stands beside the controls once all are shown.
 * @returns `node`; `focus`, on its button; `take`, for each event; `stop`.
 */
export function player({ show, say, end }) {
  const events = [];
  let place = 0;
  let speed = 1;
  let isPlaying = true;
  let isWhole = false;
  let waiting;
  const button = el("button.main", { type: "button", "data-key": "play", onclick: () => (isOver() ? from(0) : turn(!isPlaying)) });
  const pace = el("output.number");
  const slider = (name, attributes) => el("input", { type: "range", "aria-label": t(name), ...attributes });
  const position = slider("position", { min: "0", max: "0", value: "0", oninput: () => { go(Number(position.value)); turn(false); } });
  const speeds = slider("speed", { min: "0", max: String(SPEEDS.length - 1), value: "1", oninput: () => { speed = SPEEDS[speeds.value]; draw(); run(); } });
  const last = el("span");
  const line = el("p.small");
  const node = el("div.card.player", { role: "group", "aria-label": t("show_contest") }, button,
    el("label.position", {}, el("span.small.quiet", {}, t("position")), position),
    el("label.speed", {}, el("span.small.quiet", {}, t("speed")), speeds, pace), last, line);

  const isOver = () => isWhole && place === events.length;

  function draw() {
    button.textContent = t(isOver() ? "play_again" : isPlaying ? "pause" : "play");
    Object.assign(position, { max: events.length, value: place });
    position.setAttribute("aria-valuetext", `${place} / ${events.length}`);
    pace.textContent = `${speed}×`;
    last.replaceChildren(...(isOver() ? [end()] : []));
  }

  function go(to) {
    place = to;
    draw();
    show(events.slice(0, place), isOver());
    line.textContent = place ? say(events[place - 1]) : "";
  }

  /** Go on after the event that is shown, once it has stood. */
  function run() {
    clearTimeout(waiting);
    if (!isPlaying || place === events.length) return;
    const stands = place ? (STANDS[events[place - 1].type] ?? USUALLY) : 0;
    waiting = setTimeout(() => { go(place + 1); run(); }, stands / speed);
  }

  function turn(on) {
    isPlaying = on;
    draw();
    run();
  }

  function from(start) {
    go(start);
    turn(true);
  }

  draw();
  return {
    node,
    focus: () => button.focus({ preventScroll: true }),
    take(event) {
      events.push(event);
      isWhole = event.type === "run_done";
      draw();
      if (place === events.length - 1) run();
    },
    stop: () => clearTimeout(waiting),
  };
}
