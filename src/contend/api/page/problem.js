/** What went wrong with a request, in the page's words; and files, where nothing did. */

import { token } from "./api.js";
import { el, field, refill } from "./dom.js";
import { t } from "./words.js";

/** What went wrong. Where no server answers, a browser says so in its own words. */
export const errorLine = (error) => t("error", { why: error instanceof TypeError ? t("unreachable") : error.message });

/** What went wrong, as a line of the page; where the server wants its token, a field for it. */
export function problem(error) {
  const line = el("p.notice.bad", { role: "alert" }, errorLine(error));
  if (error.status !== 401) return line;
  const enter = (event) => {
    event.preventDefault();
    token.set(new FormData(event.target).get("token"));
    dispatchEvent(new HashChangeEvent("hashchange"));
  };
  return el("form.card.stack", { onsubmit: enter }, line, field(t("token"), el("input", { name: "token", type: "password", autocomplete: "off", required: true })), el("button.main", { type: "submit" }, t("send")));
}

/** Show in `place` what `draw` makes of a request's answer, or what is wrong. */
export async function drawInto(place, request, draw) {
  try {
    refill(place, draw(await request));
  } catch (error) {
    refill(place, problem(error));
  }
}

/** Save what a request gives as a file; what is wrong is shown in `place`. */
export async function saveFile(request, name, place) {
  refill(place);
  try {
    const href = URL.createObjectURL(await request);
    el("a", { href, download: name }).click();
    URL.revokeObjectURL(href);
  } catch (error) {
    refill(place, problem(error));
  }
}
