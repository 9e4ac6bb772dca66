/** The page: which view the address names, language, colours. */

import { el, refill } from "./dom.js";
import { language, setLanguage, t } from "./words.js";
import { showAsk } from "./ask.js";
import { showRun } from "./run.js";
import { showHistory } from "./history.js";
import { showChanges, showCompare } from "./compare.js";
import { showPlaybook } from "./playbook.js";
import { showStandings } from "./standings.js";

const VIEWS = { "": showAsk, run: showRun, history: showHistory, compare: showCompare, changes: showChanges, playbook: showPlaybook, standings: showStandings };

let leave = () => {};

function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decodeURIComponent);
  leave();
  drawTop(name);
  const main = document.getElementById("main");
  const view = VIEWS[name];
  if (!view) {
    refill(main, el("h1", {}, t("not_found")));
    leave = () => {};
    return;
  }
  // A view that listens to something says how to stop.
  leave = view(main, rest, new URLSearchParams(query)) ?? (() => {});
}

function drawTop(current) {
  document.documentElement.lang = language();
  const link = (name, href) => el("a", { href, "aria-current": current === name ? "page" : null }, t(name || "ask"));
  refill(
    document.getElementById("top"),
    el("nav", { "aria-label": "contend" },
      el("a.brand", { href: "#/", "aria-label": "contend" }, el("img", { src: "icon.svg", alt: "" }), el("span", {}, "contend")),
      link("", "#/"), link("history", "#/history"), link("standings", "#/standings"), link("playbook", "#/playbook"),
      el("span.settings", {},
        el("button", { type: "button", onclick: switchColours, "data-key": "colours" }, t(isDark() ? "light" : "dark")),
        el("button", { type: "button", onclick: switchLanguage, "data-key": "language" }, t("language")))),
  );
}

function isDark() {
  const set = document.documentElement.dataset.theme;
  return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchColours() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  localStorage.setItem("colours", document.documentElement.dataset.theme);
  drawTop(location.hash.replace(/^#\/?/, "").split(/[/?]/)[0]);
}

function switchLanguage() {
  setLanguage(language() === "ja" ? "en" : "ja");
  route();
}

const colours = localStorage.getItem("colours");
if (colours) document.documentElement.dataset.theme = colours;
// The first view has one address: a press on its own link does not draw it anew, without what was typed.
if (!location.hash) history.replaceState(null, "", "#/");
addEventListener("hashchange", route);
route();
