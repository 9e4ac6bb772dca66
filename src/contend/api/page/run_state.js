/** What a run's events come to: one plain object that the views draw. Told twice, an event changes nothing more. */

export function newRun() {
  return {
    theme: "", models: {}, sources: [], leftOut: {}, sourcesOff: {}, warnings: [], teams: new Map(), leaderboard: [], criteria: [],
    documents: null, filesLeftOut: [], merged: null, winner: null, learned: [], done: null,
    stopped: null, spent: null, startedAt: null, lastAt: null, idleMilliseconds: 0,
  };
}

/** Add an event to the run. */
export function apply(run, event) {
  // While a run waits or has stopped, nobody works on it.
  if (event.type === "run_resumed" && run.lastAt) run.idleMilliseconds += Date.parse(event.at) - Date.parse(run.lastAt);
  run.lastAt = event.at;
  if (event.spent) run.spent = event.spent;
  (STEPS[event.type] ?? (() => {}))(run, event);
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
  criteria_set: (run, event) => { run.criteria = event.criteria; },
  team_started(run, event) {
    const team = teamOf(run, event.team_id);
    team.name = event.team_name;
    team.status = "working";
  },
  round_started: (run, event) => { roundOf(run, event).now = "plan"; },
  search_done(run, event) {
    const { searches } = roundOf(run, event);
    const old = searches.findIndex((each) => each.query === event.query && each.source === event.source);
    searches.splice(old < 0 ? searches.length : old, 1, event);
  },
  step_done(run, event) {
    const round = roundOf(run, event);
    const old = round.steps.findIndex((each) => each.step === event.step && each.iteration === event.iteration);
    round.steps.splice(old < 0 ? round.steps.length : old, 1, event);
    round.now = NEXT[event.step] ?? event.step;
  },
  source_off: (run, event) => { run.sourcesOff[event.source] = event.reason; },
  documents_left_out: (run, event) => { run.filesLeftOut = event.files; },
  documents_read: (run, event) => { run.documents = event; },
  round_submitted(run, event) {
    const round = roundOf(run, event);
    Object.assign(round, { document: event.document, characters: event.characters, now: "scored" });
  },
  round_scored(run, event) {
    Object.assign(roundOf(run, event), { score: event.score, metrics: event.metrics, feedback: event.feedback, scored: true, now: "judged" });
    run.leaderboard = event.leaderboard;
  },
  round_judged: (run, event) => { Object.assign(roundOf(run, event), { judged: event, now: "" }); },
  team_done(run, event) {
    Object.assign(teamOf(run, event.team_id), { status: STATUS[event.status] ?? event.status, error: event.error_message });
  },
  winner_picked(run, event) {
    run.winner = event.team_id;
    run.leaderboard = event.leaderboard;
  },
  report_merged: (run, event) => { run.merged = event; },
  learned: (run, event) => { run.learned = [event]; },
  run_done: (run, event) => { run.done = event; },
};

const NEXT = { plan: "search", search: "write", choose: "write", write: "review", review: "submitted", graph: "graph" };
const STATUS = { completed: "done", failed: "forfeited", running: "working", pending: "queued" };

function teamOf(run, id) {
  if (!run.teams.has(id)) run.teams.set(id, { id, name: id, status: "queued", rounds: new Map(), error: null });
  return run.teams.get(id);
}

function roundOf(run, event) {
  const { rounds } = teamOf(run, event.team_id);
  if (!rounds.has(event.round_number)) {
    rounds.set(event.round_number, { number: event.round_number, steps: [], searches: [], metrics: [], now: "" });
  }
  return rounds.get(event.round_number);
}

/** A team's name, known when it has started. */
export const nameOf = (run, id) => run.teams.get(id)?.name ?? id;
