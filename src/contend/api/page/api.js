/** The HTTP research API, on the page's own origin. */

const ROOT = "../";

/** A refusal of the API, in its own words. */
export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** The server's token, where it asks for one; kept until the browser's tab is closed. */
export const token = {
  get: () => sessionStorage.getItem("token") ?? "",
  set: (value) => sessionStorage.setItem("token", value),
};

const authorization = () => (token.get() ? { authorization: `Bearer ${token.get()}` } : {});

/** `body`: values that go as JSON, or a file, which goes as it is. */
async function send(method, path, body) {
  const isFile = body instanceof File;
  const kind = isFile ? "application/octet-stream" : "application/json";
  const response = await fetch(ROOT + path, {
    method,
    // What is deleted is deleted, though its reader leaves the page.
    keepalive: method === "DELETE",
    headers: { ...authorization(), ...(body === undefined ? {} : { "content-type": kind }) },
    body: body === undefined || isFile ? body : JSON.stringify(body),
  });
  if (!response.ok) throw new ApiError(refusal(await response.text()) || `${response.status} ${response.statusText}`, response.status);
  return response;
}

async function ask(method, path, body) {
  const response = await send(method, path, body);
  const text = await response.text();
  return text && (response.headers.get("content-type") ?? "").includes("json") ? JSON.parse(text) : text;
}

/** The line that says what is wrong: ours, or the list that validation gives. */
function refusal(text) {
  try {
    const { detail, message } = JSON.parse(text);
    if (Array.isArray(detail)) return detail.map((each) => `${each.loc?.slice(1).join(".") ?? ""}: ${each.msg}`).join("; ");
    return detail ?? message ?? "";
  } catch {
    return text.slice(0, 300);
  }
}

const id = encodeURIComponent;

/** An id for a new run: a UUID. (`crypto.randomUUID` is missing on pages that come over plain HTTP from elsewhere.) */
export const newId = () =>
  "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit) => (digit ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (digit / 4)))).toString(16));

export const api = {
  health: () => ask("GET", "health"),
  start: (run, request) => ask("PUT", `research/${id(run)}`, request),
  upload: (run, file) => ask("PUT", `research/${id(run)}/uploads/${id(file.name)}`, file),
  uploads: (run) => ask("GET", `research/${id(run)}/uploads`),
  deleteUpload: (run, name) => ask("DELETE", `research/${id(run)}/uploads/${id(name)}`),
  followUp: (run, request) => ask("POST", `research/${id(run)}/follow-up`, request),
  demo: (name) => ask("POST", `research/demo?name=${id(name)}`),
  dryRun: (request) => ask("POST", "research/dry-run", request),
  list: (search = "", offset = 0, limit = 20) => ask("GET", `research?${new URLSearchParams({ search, offset, limit })}`),
  get: (run) => ask("GET", `research/${id(run)}`),
  cancel: (run) => ask("DELETE", `research/${id(run)}`),
  delete: (run) => ask("DELETE", `research/${id(run)}/data`),
  resume: (run) => ask("POST", `research/${id(run)}/resume`),
  answer: (run, answers) => ask("POST", `research/${id(run)}/answers`, { answers }),
  report: (run, format) => ask("GET", `research/${id(run)}/report?format=${format}`),
  reportFile: async (run, format) => (await send("GET", `research/${id(run)}/report?format=${format}`)).blob(),
  document: (run, document) => ask("GET", `research/${id(run)}/documents/${id(document)}`),
  compare: (one, other) => ask("GET", `research/${id(one)}/compare/${id(other)}`),
  mergeChanges: (run) => ask("GET", `research/${id(run)}/merge`),
  standings: (dataset) => ask("GET", `standings?dataset=${id(dataset)}`),
  playbooks: () => ask("GET", "playbooks"),
  playbook: (dataset, version) =>
    ask("GET", `playbooks/${id(dataset)}${version === undefined ? "" : `/versions/${version}`}`),
  versions: (dataset) => ask("GET", `playbooks/${id(dataset)}/versions`),
  retired: (dataset) => ask("GET", `playbooks/${id(dataset)}/retired`),
  difference: (dataset, first, second) => ask("GET", `playbooks/${id(dataset)}/diff?first=${first}&second=${second}`),
  // `newest`: the version that the reader sees; the server refuses a change where there is another one since.
  addLesson: (dataset, lesson, newest) => ask("POST", `playbooks/${id(dataset)}/lessons?version=${newest}`, lesson),
  editLesson: (dataset, lesson, changes, newest) => ask("PATCH", `playbooks/${id(dataset)}/lessons/${id(lesson)}?version=${newest}`, changes),
  retireLesson: (dataset, lesson, newest) => ask("DELETE", `playbooks/${id(dataset)}/lessons/${id(lesson)}?version=${newest}`),
  restoreLesson: (dataset, lesson, newest) => ask("POST", `playbooks/${id(dataset)}/lessons/${id(lesson)}/restore?version=${newest}`),
  rollBack: (dataset, version, newest) => ask("POST", `playbooks/${id(dataset)}/versions/${version}/rollback?version=${newest}`),
};

const RETRY_MILLISECONDS = 2000;

/**
 * Follow a run: `onEvent` for each event, those that are past first; `onStatus` each time it stands otherwise. Where the connection is lost, it goes on after the
 * last event that came. Returns how to stop. (An EventSource could send no token.)
 */
export function follow(run, { onEvent, onStatus, onLost, onBack }) {
  const stopping = new AbortController();
  let last = "";
  let isOver = false;

  const take = (block) => {
    const lines = block.split("\n").map((line) => line.match(/^(id|event|data): ?(.*)$/)).filter(Boolean);
    const of = (name) => lines.filter((line) => line[1] === name).map((line) => line[2]).join("\n");
    if (of("id")) last = of("id");
    if (!of("data")) return;
    const data = JSON.parse(of("data"));
    if (of("event") === "status") {
      isOver = ["completed", "failed"].includes(data.status);
      onStatus(data);
    } else onEvent(data);
  };

  const read = async () => {
    const headers = { accept: "text/event-stream", ...authorization(), ...(last ? { "last-event-id": last } : {}) };
    const response = await fetch(`${ROOT}research/${id(run)}/events`, { headers, signal: stopping.signal });
    if (!response.ok) throw new ApiError(refusal(await response.text()), response.status);
    onBack();
    if (response.status === 204) isOver = true;
    if (!response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const blocks = (rest + part.value.replaceAll("\r", "")).split("\n\n");
      rest = blocks.pop();
      blocks.forEach(take);
    }
  };

  const keepReading = async () => {
    while (!isOver && !stopping.signal.aborted) {
      try {
        await read();
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (error.status >= 400 && error.status < 500) {
          onLost(error);
          return;
        }
        onLost();
      }
      if (!isOver) await new Promise((done) => setTimeout(done, RETRY_MILLISECONDS));
    }
  };
  keepReading();
  return () => stopping.abort();
}
