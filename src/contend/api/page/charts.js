/** Small charts of our own: lines over rounds, and rows of bars or intervals. Colours come from the style sheet (.c0 to .c5). */

import { el } from "./dom.js";

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** What a pointer that rests on a mark is told. */
const titled = (node, text) => node.append(svg("title", {}, text)) ?? node;

/** As wide as there is room, so that its text is as large as other text. */
const room = (most) => Math.max(260, Math.min(most, document.getElementById("main").clientWidth - 76));

function image(label, width, height, ...children) {
  return svg("svg", { role: "img", "aria-label": label, width, height, viewBox: `0 0 ${width} ${height}`, class: "chart" }, ...children);
}

/** Names of what the colours and marks stand for. */
export const legend = (names, mark = "circle") => el("p.legend.small", {}, names.map((name, place) => el("span", {},
  svg("svg", { width: 14, height: 14, "aria-hidden": "true" }, mark === "bar" ? svg("rect", { class: `c${place}`, width: 14, height: 12, y: 1 }) : shape(place, 7, 7)), name)));

/** A mark of its own for each of six, so that none is known by colour alone. */
function shape(place, x, y) {
  const path = ["", "M-5-5h10v10h-10z", "M0-6.5L6.5 0 0 6.5-6.5 0z", "M0-6L6 5H-6z", "M0 6L6-5H-6z", "M-6-2h4v-4h4v4h4v4h-4v4h-4v-4h-4z"][place % 6];
  const attributes = { class: `c${place % 6}`, transform: `translate(${x} ${y})` };
  return path ? svg("path", { ...attributes, d: path }) : svg("circle", { ...attributes, r: 5 });
}

/**
 * Scores over rounds. `columns`: what stands below them; `series`: `name` and `points`, each [column, score from 0 to 1].
 */
export function lineChart(label, columns, series) {
  const [width, height, left, bottom] = [room(560), 210, 34, 24];
  const scores = series.flatMap(({ points }) => points.map(([, score]) => score * 100));
  const low = Math.max(0, Math.floor((Math.min(...scores) - 3) / 10) * 10);
  const step = low < 60 ? 20 : 10;
  const x = (column) => left + 24 + (column * (width - left - 60)) / Math.max(1, columns.length - 1);
  // Beside one another, so that of equal scores none hides another.
  const beside = (column, place) => x(column) + (place - (series.length - 1) / 2) * 7;
  const y = (score) => 10 + ((100 - score) * (height - bottom - 20)) / (100 - low);
  const levels = Array.from({ length: Math.floor((100 - low) / step) + 1 }, (_, place) => low + place * step);
  return [image(label, width, height,
    levels.map((level) => [svg("line", { class: "grid", x1: left, x2: width - 6, y1: y(level), y2: y(level) }), svg("text", { x: left - 6, y: y(level) + 4, "text-anchor": "end" }, level)]),
    columns.map((name, column) => svg("text", { x: x(column), y: height - 6, "text-anchor": "middle" }, name)),
    series.map(({ points }, place) => svg("polyline", { class: `line s${place % 6}`, points: points.map(([column, score]) => `${beside(column, place)},${y(score * 100)}`).join(" ") })),
    series.map(({ name, points }, place) => points.map(([column, score]) => titled(shape(place, beside(column, place), y(score * 100)), `${name} · ${columns[column]}: ${(score * 100).toFixed(1)}`)))),
  legend(series.map(({ name }) => name))];
}

/**
 * A row for each: its `name`, a `figure` at its end, and below them what `draw(x)` makes of it, where `x` turns a value
 * between `low` and `high` into a place.
 */
export function rowChart(label, { low, high, rows, ends }) {
  const [width, tall] = [room(560), 46];
  const x = (value) => 4 + ((value - low) * (width - 8)) / Math.max(1e-9, high - low);
  return image(label, width, rows.length * tall + 18,
    rows.map(({ name, figure, draw }, place) => svg("g", { transform: `translate(0 ${place * tall})` },
      svg("text", { x: 4, y: 14, class: "name" }, name), svg("text", { x: width - 4, y: 14, "text-anchor": "end" }, figure),
      svg("line", { class: "grid", x1: 4, x2: width - 4, y1: 30, y2: 30 }), draw(x))),
    svg("text", { x: 4, y: rows.length * tall + 12 }, ends[0]), svg("text", { x: width - 4, y: rows.length * tall + 12, "text-anchor": "end" }, ends[1]));
}

/** A bar of a row, from one value to another, in a colour. */
export const bar = (x, [from, to], colour, text) => titled(svg("rect", { class: `c${colour}`, x: x(from), width: Math.max(1.5, x(to) - x(from)), y: 21, height: 18 }), text);

/** A value of a row with its interval. */
export const interval = (x, value, [low, high]) => [svg("line", { class: "line s0", x1: x(low), x2: x(high), y1: 30, y2: 30 }), shape(0, x(value), 30)];
