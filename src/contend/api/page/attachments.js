/** Files that a person adds to a question, by choosing or dropping them. None leaves the browser before the question does. */

import { api } from "./api.js";
import { el, refill } from "./dom.js";
import { number, t } from "./words.js";

/**
 * The field for files of a question on the thread; `isNew`: none of it are on the server yet.
 * @returns `node`; `drop`, which takes files that are dragged over a node or dropped on it; `send`, which gives the folder of all files on the
 *   server, "" without any; `keep`, once a run reads them; `discard`, which deletes what was sent for no run.
 */
export function attachments(thread, { isNew }) {
  const files = new Map();
  const sent = new Map();
  let folder = "";
  let isKept = !isNew;
  const list = el("ul.files", { "aria-live": "polite", "aria-label": t("files") });
  const input = el("input", { type: "file", multiple: true, hidden: true, onchange: () => { addAll(input.files); input.value = ""; } });
  const choose = el("button", { type: "button", "data-key": "choose", onclick: () => input.click() }, t("add_files"));
  const node = el("div.drop", {}, el("div.row", {}, choose, input, el("span.small.quiet", {}, t("drop_files"))), list);

  function addAll(added) {
    for (const file of added) {
      files.set(file.name.normalize(), file);
      sent.delete(file.name.normalize());
    }
    draw();
  }

  function draw() {
    const sizes = new Map([...sent, ...[...files].map(([name, file]) => [name, file.size])]);
    refill(list, [...sizes].map(([name, size]) => el("li.row", {}, el("span", {}, name), el("span.small.quiet", {}, t("kilobytes", { n: number(Math.ceil(size / 1000)) })),
      el("button.plain.small", { type: "button", "aria-label": `${t("remove")}: ${name}`, onclick: () => remove(name) }, t("remove")))));
  }

  async function remove(name) {
    if (sent.has(name)) await api.deleteUpload(thread, name);
    files.delete(name);
    sent.delete(name);
    draw();
    choose.focus();
  }

  const take = (answer) => {
    folder = answer.folder;
    for (const { name, bytes } of answer.uploads) sent.set(name, bytes);
  };

  async function send(onFile) {
    for (const [name, file] of files) {
      if (sent.has(name)) continue;
      onFile(name);
      take(await api.upload(thread, file));
    }
    return sent.size ? folder : "";
  }

  if (!isNew) api.uploads(thread).then(take).then(draw, () => {});
  return {
    node, send,
    // Text that is dropped goes where it would go without us.
    drop: (event) => { if (!event.dataTransfer.types.includes("Files")) return; event.preventDefault(); addAll(event.dataTransfer.files ?? []); },
    keep: () => { isKept = true; },
    discard: () => {
      if (isKept) return;
      for (const name of sent.keys()) api.deleteUpload(thread, name).catch(() => {});
      sent.clear();
    },
  };
}
