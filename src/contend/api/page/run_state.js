/** What a run's events come to: one plain object that the views draw. Told twice, an event changes nothing more. */

export function newRun() {
  return {
    theme: "", models: {}, sources: [], leftOut: {}, sourcesOff: {}, warnings: [], steps: [], teams: new Map(), leaderboard: [], criteria: [], parts: [],
    documents: null, filesLeftOut: [], merged: null, winner: null, best: null, published: null, publishedScore: null, learned: [], done: null,
    stopped: null, spent: null, startedAt: null, lastAt: null, idleMilliseconds: 0,
  };
}

/** Add an event to the run. */
export function apply(run, event) {
  // While a run waits or has stopped, nobody works on it.
  if (event.type === "run_resumed" && run.lastAt) run.idleMilliseconds += Date.parse(event.at) - Date.parse(run.lastAt);
  run.lastAt = event.at;
  mark(run, event);
  if (event.spent) run.spent = event.spent;
  (STEPS[event.type] ?? (() => {}))(run, event);
}

/** What a team had been doing when it told of something; "" of what begins. */
const PHASES = { round_started: "", team_started: "", search_done: "search", round_submitted: "write", round_scored: "judge", round_judged: "judge", plan: "plan", research: "search", search: "search", write: "write", review: "write", graph: "write" };

/** Note when a team told what, so that its times can be drawn. While a run waits or has stopped, no team works. */
function mark(run, event) {
  const phase = PHASES[event.step ?? event.type];
  const resumed = event.type === "run_resumed";
  const teams = resumed ? [...run.teams.values()].filter((team) => team.status === "working") : phase === undefined || !event.team_id ? [] : [teamOf(run, event.team_id)];
  for (const team of teams) team.marks.set(event.id, { phase: resumed ? "" : phase, at: Date.parse(event.at) });
}

const STEPS = {
  run_started(run, event) {
    // Another question on the same thread begins anew.
    Object.assign(run, newRun(), {
      theme: event.theme, models: event.models, sources: event.sources, leftOut: event.sources_off,
      warnings: event.warnings, startedAt: event.at, lastAt: event.at, recorded: event.models.replies ?? null,
    });
    for (const team of event.teams) teamOf(run, team);
  },
  run_resumed(run) {
    run.stopped = null;
    run.done = null;
  },
  run_stopped: (run, event) => { run.stopped = event.message; },
  criteria_set: (run, event) => { Object.assign(run, { criteria: event.criteria, parts: event.parts ?? [] }); },
  team_started(run, event) {
    const team = teamOf(run, event.team_id);
    team.name = event.team_name;
    team.status = "working";
  },
  round_started: (run, event) => { roundOf(run, event).now = "plan"; },
  search_done(run, event) {
    const { searches } = roundOf(run, event);
    const old = searches.findIndex((each) => each.kind === event.kind && each.query === event.query && each.source === event.source);
    searches.splice(old < 0 ? searches.length : old, 1, event);
  },
  step_done(run, event) {
    const round = roundOf(run, event);
    const old = round.steps.findIndex((each) => each.step === event.step && each.iteration === event.iteration);
    round.steps.splice(old < 0 ? round.steps.length : old, 1, event);
    round.now = nextOf(round, event);
  },
  source_off: (run, event) => { run.sourcesOff[event.source] = event.reason; },
  documents_left_out: (run, event) => { run.filesLeftOut = event.files; },
  documents_read: (run, event) => { run.documents = event; },
  round_submitted(run, event) {
    const round = roundOf(run, event);
    Object.assign(round, { document: event.document, characters: event.characters, now: "scored" });
  },
  round_scored(run, event) {
    Object.assign(roundOf(run, event), { score: event.score, metrics: event.metrics, feedback: event.feedback, usage: event.usage, scored: true, now: "judged" });
    run.leaderboard = event.leaderboard;
  },
  round_judged: (run, event) => { Object.assign(roundOf(run, event), { judged: event, now: "" }); },
  team_done(run, event) {
    Object.assign(teamOf(run, event.team_id), { status: STATUS[event.status] ?? event.status, error: event.error_message });
  },
  step_chosen(run, event) {
    if (!run.steps.some((step) => step.reason === event.reason)) run.steps.push(event);
    for (const team of event.teams) teamOf(run, team);
  },
  winner_picked(run, event) {
    Object.assign(run, { winner: event.team_id, best: event.score, leaderboard: event.leaderboard });
    STEPS.report_published(run, event);
  },
  report_published: (run, event) => { Object.assign(run, { published: event.published ?? null, publishedScore: event.published_score ?? null }); },
  report_merged: (run, event) => { run.merged = event; },
  learned: (run, event) => { run.learned = [event]; },
  run_done: (run, event) => { run.done = event; },
};

/** What a team is at after a step: where all is read whole nothing is searched, and a last step looks nothing up. */
function nextOf(round, event) {
  if (["plan", "research"].includes(event.step)) return event.actions ? "search" : "write";
  if (event.step === "search") return lastResearch(round) ? "research" : "write";
  return NEXT[event.step] ?? event.step;
}

const NEXT = { write: "review", review: "submitted" };
const STATUS = { completed: "done", failed: "forfeited", running: "working", pending: "queued" };

function teamOf(run, id) {
  if (!run.teams.has(id)) run.teams.set(id, { id, name: id, status: "queued", rounds: new Map(), marks: new Map(), error: null });
  return run.teams.get(id);
}

function roundOf(run, event) {
  const { rounds } = teamOf(run, event.team_id);
  if (!rounds.has(event.round_number)) {
    rounds.set(event.round_number, { number: event.round_number, steps: [], searches: [], metrics: [], now: "" });
  }
  return rounds.get(event.round_number);
}

/**
 * How far the parts of the question are in a round: after its last step of research, else all open, as long as nothing
 * is written. Material that fits one prompt is read without steps.
 */
export function partsOf(run, round) {
  const last = lastResearch(round);
  if (last) return last.parts;
  const isBegun = round.document || round.steps.some((step) => step.step === "write");
  return isBegun ? [] : run.parts.map((text) => ({ text, state: "open", passages: [], missing: "" }));
}

/** The newest of a round's steps of research. */
export const lastResearch = (round) => round.steps.filter((step) => step.step === "research").sort((one, other) => one.iteration - other.iteration).at(-1);

/** A team's name, known when it has started. */
export const nameOf = (run, id) => run.teams.get(id)?.name ?? id;
