"""English as data: the word lists that code uses, and every word that people read in a report."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

ABBREVIATIONS = frozenset(
    """
    mr. mrs. ms. dr. prof. st. mt. jr. sr. rev. gen. sen. rep. gov. vs. cf. al. approx. ca. dept. inc. ltd. co. corp.
    univ. viz. incl. resp. jan. feb. apr. jun. jul. aug. sep. sept. oct. nov. dec.
    """.split()  # noqa: SIM905 - a list of words reads better
)
"""Abbreviations whose full stop does not end a sentence."""

BEFORE_NUMBERS = frozenset("no. nos. fig. figs. eq. eqs. sec. ch. vol. pp. art. ref. refs. ed. est. mar.".split())  # noqa: SIM905 - see above
"""The same, if a number follows."""

STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could did do
    does doing down during each few for from further had has have having he her here hers him his how i if in into
    is it its itself just many me more most much my no nor not of off on once only or other our out over own same
    she should so some such than that the their them then there these they this those through to too under until up
    us very was we were what when where which while who whom why will with would you your
    """.split()  # noqa: SIM905 - see above
)
"""Stop words: they say nothing about a subject."""

SPELT = {
    word: value
    for value, word in enumerate(
        """
        zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen twenty
        """.split()  # noqa: SIM905 - see above
    )
} | {"dozen": 12, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}

DATE_FIELDS = (
    "(?:date|dated|date of issue|as of|state of|issued|published|signed|held|(?:last )?(?:modified|revised|updated))"
    "(?: on)?"
)
"""The words before a document's own date, at the head of letters, papers, minutes, registers and READMEs."""

CHANGE_FIELDS = (
    r"(?:(?:this|the) (?:page|document|article|file|manual|site) (?:was )?)?(?:last )?"
    r"(?:modified|revised|updated|edited|changed|update|revision|change|modification)(?: (?:on|at))?"
)
"""The words before the day of a text's last change, often at its end."""

ORDINAL = "(?:st|nd|rd|th)?"
"""The ending of an ordinal, after the day of a month."""

OPENERS = (
    r"(?:the\s+)?(?:thought\s+process|thinking|reasoning|solution|(?:final\s+)?answer(?:\s+is)?|step\s+\d+)"
    r"|let(?:'?s|\s+(?:us|me))\s+(?:think|solve|work)(?:\s+(?:\w+\s+){0,3}(?:it|this|problem|question))?"
    r"(?:\s+(?:through|out|carefully|step\s+by\s+step))*"
    r"|(?:sure|certainly|of\s+course|okay|ok)(?:\s+here\s+is\s+(?:the|my)\s+\w+)?"
)
"""Openers that alone won full marks from judges (Zhao et al., "One Token to Fool LLM-as-a-Judge", 2025), and kin."""


class Headings(NamedTuple):
    """The headings of a report."""

    summary: str = "Executive Summary"
    findings: str = "Key Findings"
    analysis: str = "Detailed Analysis"
    limits: str = "Constraints and Challenges"
    references: str = "References"
    also_read: str = "Also read"
    sources: str = "Sources"
    calculated: str = " *(calculated)*"
    calculation: str = "calc."


class FeedbackWords(NamedTuple):
    """Sentences about a submission's scores, for teams and readers."""

    metrics_unscored: str = "unscored: {names}; the other metrics are weighed alone"
    judges_unscored: str = "unscored: {names}; metrics by code alone make no score"
    capped: str = "capped: nothing is cited, or a citation names a source that was not retrieved"
    unsupported: str = "What it cites does not say this."
    unsupported_because: str = "What it cites does not say this ({lacking})."
    said_in_part: str = "What it cites says only a part of this ({lacking})."
    quoted: str = "{mark} “{text}”"
    uncited: str = "nothing is cited"
    no_passage_cited: str = "no statement cites a passage that is at hand"
    none_judged: str = "no statement quotes what it cites, and nobody has judged them"
    quote_not_found: str = "the judge's quote “{quote}” stands in none of its passages"
    no_quote: str = "the judge quotes nothing for it"
    contradicted_by: str = "{reason} In the source: “{quote}”"
    citations_retrieved: str = "citations that name a retrieved source: {good} of {all}"
    citations_missing: str = "; not retrieved: {text}"
    no_plan: str = "the parts of the question are not known"
    points_answered: str = "parts of the question that are answered: {good} of {all}"
    points_missing: str = "; open or answered in part: {text}"
    found_after_all: str = (
        "- A search for what the report calls not found ({text}) brought {passages}: say what these passages tell of "
        "it, and call only that not found which they do not tell; where they tell nothing of it, the statement stays."
    )
    sentences_supported: str = "statements that are shown by what they cite: {good} of {all}"
    sentences_partly: str = "; said in part: {count}"
    sentences_unfounded: str = "; statements that cite nothing: {count}"
    sentences_unjudged: str = "; judged by nobody: {count}"
    weakest_sentence: str = "; not shown: “{text}”"
    submission_empty: str = "the submission is empty"
    submission_repeats_question: str = "nothing beyond the question"
    criteria_met: str = "{met} of {all} criteria met, {partly} partly, {unmet} not"
    criterion_partly: str = "only partly met: {text}"
    criterion_unmet: str = "not met: {text}"
    whole_report: str = "the report"
    no_verdict: str = "the judge gave no verdict on it"


class VerifyWords(NamedTuple):
    """Sentences about statements that no longer hold."""

    passage_missing: str = "passage {passage} is not in the file"
    passage_changed: str = "the passage of {document} is not the one that was read"
    holds_again: str = "what code refuted holds now"
    document_changed: str = "{document} does not say it any more"
    document_gone: str = "{document} is gone"


class AgreementWords(NamedTuple):
    """Sentences about teams that say the same, or contradict each other."""

    found: str = "found independently by {count} of {teams} teams"
    found_heading: str = "Found independently by several teams"
    found_count: str = "by {count} of {teams} teams: {statements}"
    found_statement: str = "{text} ({count} of {teams} teams)"
    heading: str = "Where the teams disagreed"
    point: str = "**{point}** ({teams}): {end}"
    decided: str = "the report follows {team}. {why}"
    undecided: str = "undecided. {why}"


class ChartWords(NamedTuple):
    """The words of the chart of a contest."""

    title: str = "Scores by round"
    score: str = "Score (of 100)"
    round: str = "round {number}"
    merge: str = "Merge"
    editor: str = "Editor's merge"
    published: str = "published"


class ProofWords(NamedTuple):
    """The words of a statement's proof, and the names of the filters."""

    stated: str = "Quoted"
    cited: str = "Cited, without a quote"
    uncited: str = "Nothing is cited"
    calculated: str = "Calculated"
    disputed: str = "Sources disagree"
    derived: str = "Follows from what it cites"
    judgement: str = "The writer's judgement"
    not_found: str = "Not found"
    searched: str = "Searched for: {words}"
    doubted: str = "To check: {why}"
    read_at: str = "read {day}"
    show: str = "Point out"
    filters: Mapping[str, str] = MappingProxyType(
        {
            "calculated": "calculated",
            "judgement": "judgement",
            "not_found": "not found",
            "disputed": "sources disagree",
            "doubted": "doubted",
        }
    )


class NoteWords(NamedTuple):
    """Sentences about how a run went, in its report and at its end."""

    all_delivered: str = "all teams delivered"
    search_only: str = (
        "a search of your documents; no language model. With OPENAI_API_KEY set, or OPENAI_BASE_URL for a server of "
        "your own, teams compete for a report"
    )
    nothing_holds: str = "no statement of the report is carried by its passages: all are struck out; try another model"
    near_tie: str = "near tie: the teams at the top were compared in pairs, and the ranking follows that comparison"
    team_ended: str = "{teams} {status}: {why}"
    one_team: str = "team {team}"
    several_teams: str = "teams {teams} and {last}"
    team_statuses: Mapping[str, str] = MappingProxyType({"failed": "failed", "timeout": "timeout"})
    no_reason: str = "no reason given"
    limit_reached: str = "{limit} was reached: the best submission until then is published"
    all_unscored: str = "unscored: no submission could be scored"
    learning_failed: str = "learning failed: {why}"
    report_rejected: str = "a person rejected the report: {why}"
    report_revised: str = "revised once after a person's comment; the scores are those of the report before: {comment}"
    revised_before: str = "the report has been revised once: approve, edit or reject it"
    not_revisable: str = "no language model can revise quotes: approve, edit or reject them"
    not_revised: str = "the report could not be revised: {why}"
    left_undone: str = "the writer did not do: {what}"
    same_reason: str = "the same reason"
    no_criteria: str = "no criteria could be set, and coverage is judged by its rubric"
    no_parts: str = "the parts of the question could not be named, and the whole question is one part"
    unscored_in: str = "unscored in {count} of {rounds}: {names}"
    round_judge_failed: str = "the round judge failed after {rounds}, and its team played on"
    comparisons_failed: str = "near tie: {count} of {comparisons} failed"
    editor_failed: str = "the editor failed, and the best team's report stands"
    quotes_dropped: str = "quotes of judges that are in no submission, and were dropped: {count}"
    own_judges: str = (
        "the judges use the writer's model ({models}): a model of their own is fairer "
        "(config/models.toml, [roles] evaluator and judge)"
    )


class StepWords(NamedTuple):
    """Sentences that say why a team plays another round or ends, and what `auto` does next."""

    least_rounds: str = "round {round} of at least {least}"
    criteria_met: str = "all {criteria} criteria are met"
    still_open: str = "still open: {what}"
    unmet: str = "criteria not met: {count} of {criteria}"
    partly: str = "criteria met in part: {count} of {criteria}"
    open_parts: str = "parts of the question: {count}"
    unsupported: str = "statements that are not supported: {count}"
    in_part: str = "statements shown only in part: {count}"
    fixes: str = "fixes that judges named: {count}"
    nothing_to_mend: str = "no judge names anything to mend"
    contradicted: str = "statements that their passages contradict: {count}"
    separator: str = "; "
    unjudged: str = "no judge has held the report against criteria"
    no_contest_met: str = "All {criteria} criteria met after round {round}: no contest was needed."
    no_contest: str = "After round {round} nothing is open that a further team is for ({what}): no contest was needed."
    no_contest_target: str = "The target score is reached after round {round}: no contest was needed."
    no_other_team: str = (
        "Still open after round {round}: {what}. No further team has other sources or models or another stance."
    )
    no_budget: str = "Still open after round {round}: {what}. Too little of a budget is left for a further team."
    cost: str = " {tokens} tokens instead of about {contest}."
    send: str = "Still open after round {round}: {what}. Further teams: {teams}."
    send_instead: str = "{team} delivered nothing. Further teams: {teams}."
    none_delivered: str = "No team delivered a report."
    one_delivered: str = "Only {team} delivered a report: there is nothing to merge."
    alike: str = "No other report meets what {team}'s does not: nothing is merged."
    merge: str = "{teams} met what {team}'s report does not ({count} criteria or parts): an editor merges the reports."
    merge_asked: str = "An editor merges the reports, as the run's options say."
    merge_unjudged: str = "No judge has held all reports against criteria: an editor merges them."
    no_budget_for_editor: str = "Too little of a budget is left for an editor."
    no_merge_asked: str = "No editor merges the reports, as the run's options say."
    gain_here: str = " Expected gain: {points:.1f} points, as {count} runs of this workspace say."
    gain_shipped: str = " Expected gain: about {points:.0f} point, as contests on short documents gave."


class Words(NamedTuple):
    """All words that people read in or about a report. The defaults are English; `ja.py` has the Japanese ones."""

    legend: Mapping[str, str] = MappingProxyType(
        {
            "†": "the writer's judgement",
            "‡": "looked for and not found",
            "⇄": "sources disagree",
            "[=…]": "a sum, checked by code",
        }
    )
    about_run: str = "About this run"
    status: str = "Report"
    winner: str = "Winner"
    published: str = "Published"
    merge_and_best: str = "editor's merge ({merged}); best team: {team} ({best})"
    published_unscored: str = "Published unscored"
    active_time: str = "Active time"
    seconds: str = "{seconds:.1f} s"
    minutes: str = "{minutes} min {seconds} s"
    models: str = "Models"
    replies: str = "Model replies"
    recorded: str = "recorded on {date} (model {model})"
    recorded_usage: str = "{recorded}: {calls}, {tokens:,} tokens then, none now"
    usage: str = "Usage until publication"
    calls_and_tokens: str = "{calls}, {input:,} tokens in, {output:,} out"
    from_cache: str = ", {share:.0%} of the input from the provider's cache"
    cost_unknown: str = "cost unknown"
    counts: Mapping[str, tuple[str, str]] = MappingProxyType(
        {
            "model_calls": ("{count} model call", "{count} model calls"),
            "queries": ("{count} query", "{count} queries"),
            "parts_answered": ("{part} of {count} part answered", "{part} of {count} parts answered"),
            "parts": ("{count} part of the question", "{count} parts of the question"),
            "sources": ("{count} source", "{count} sources"),
            "pages": ("{part} of {count} page in full", "{part} of {count} pages in full"),
            "passages": ("{part} of {count} passage", "{part} of {count} passages"),
            "statements": ("{count} statement", "{count} statements"),
            "found_passages": ("{count} passage", "{count} passages"),
            "references": ("{count} reference", "{count} references"),
            "uncited": (
                "{count} more document was read and not cited.",
                "{count} more documents were read and not cited.",
            ),
            "rounds": ("{count} round", "{count} rounds"),
            "comparisons": ("{count} comparison", "{count} comparisons"),
            "changes": ("{count} change", "{count} changes"),
            "answers": ("{count} answer", "{count} answers"),
        }
    )
    """The nouns of things that are counted, singular and plural."""
    sources_off: str = "Source that was off"
    left_out: str = "Left out of the documents"
    files_and_more: str = "{names} and {count:,} more"
    file_reason: str = "{files} ({why})"
    further_reasons: str = "files left out for further reasons: {count:,}"
    unread: str = "Page not read in full"
    missing: str = "Cited by the team's graph, and not retrieved"
    speaking: str = "Left out as addressed to AI systems, passages of"
    withheld: str = "Left out because it repeats what a source orders AI systems to say"
    note: str = "Note"
    warning: str = "Warning"
    leaderboard: str = "Leaderboard"
    leaderboard_columns: tuple[str, str, str, str] = ("Rank", "Team", "Best score", "Round")
    the_editor: str = "The editor"
    lessons: str = "Lessons of earlier runs that it used"
    unverified: str = "Citations to check (⚠: the cited source was not seen to say this)"
    sums: str = "Sums of calculated statements"
    colon: str = ": "
    statuses: Mapping[str, str] = MappingProxyType({"completed": "complete", "partial": "partial"})
    unscored: str = "unscored"
    criterion_example: str = "Example: {text}"
    """The line below a criterion, for judges."""
    progress: Mapping[str, str] = MappingProxyType(
        {
            "run_started": "{teams} begin.",
            "plan": "{team_id}, round {round}: the plan is made.",
            "write": "{team_id}, round {round}: a draft is written.",
            "round_scored": "{team_id}, round {round}: {score}.",
            "team_failed": "{team_id} gave up: {error_message}.",
            "winner_picked": "{team_id} is first with {score}.",
            "merge_picked": "The editor's merge is published with {published_score}; best team: {team_id}, {score}.",
            "step_chosen": "{reason}",
            "report_merged": "The editor has merged the reports.",
        }
    )
    asked: Mapping[str, str] = MappingProxyType(
        {
            "plan": "Plan of team {team} for: {theme}",
            "report": "Report of team {team} on: {theme}",
            "changes": "{changes} to the playbook {dataset!r}",
            "merged": "Report merged from the teams' on: {theme}",
        }
    )
    """The questions to a person for each approval."""
    language: str = "English"
    headings: Headings = Headings()
    feedback: FeedbackWords = FeedbackWords()
    notes: NoteWords = NoteWords()
    verifying: VerifyWords = VerifyWords()
    agreement: AgreementWords = AgreementWords()
    chart: ChartWords = ChartWords()
    proof: ProofWords = ProofWords()
    steps: StepWords = StepWords()
    with_reason: str = "{text} ({reason})"
    between: str = ", "
    """Stands between the names of a list."""
    partly: str = "said in part: {reason}"
    merged_published: str = (
        "The report above was merged of the best parts of {count} teams' reports. "
        "Score: {score}; the best team's: {best}."
    )
    merged_preferred: str = (
        "The report above was merged of the best parts of {count} teams' reports, and judges preferred it to the best "
        "team's. Score: {score}; the best team's: {best}."
    )
    merged_not_preferred: str = (
        "The reports of {count} teams were merged, and judges preferred the best team's, which is above. "
        "Score: {score}; the best team's: {best}."
    )
    merged_not_better: str = (
        "The reports of {count} teams were merged, and the merged report was not better: the best team's is above. "
        "Score: {score}; the best team's: {best}."
    )
    taken_from: str = "From {team}: {what}"
    not_listed: str = "a source that the report does not list"
    the_source: str = "the source"
    unknown_address: str = "(address not in the sources)"

    # The report of a search without a language model.
    passages_found: str = (
        "The passages nearest to the question stand in: {files}. Nobody has judged whether they answer it."
    )
    parts_found: str = (
        "Passages near to {count} of {parts} parts of the question stand in: {files}. "
        "Nobody has judged whether they answer it."
    )
    nothing_found: str = "no passage of your documents has a word of the question"
    no_passage: str = "No passage of your documents has a word of it."
    part_not_found: str = "No passage of your documents has a word of this part: {part}"
    superseded: str = "superseded, by its name or day: {file} is newer"

    refuted: Mapping[str, str] = MappingProxyType(
        {
            "quote": "“{detail}” stands in none of the passages that it names",
            "figure": "nothing that it quotes has {detail}",
            "sum": "its sum does not give {detail}",
            "input": "no passage and no other statement has the {detail} of its sum",
        }
    )
    """Why code refutes a statement, by rule, for writers and readers."""
    signals: Mapping[str, str] = MappingProxyType(
        {
            "roles": "turns of a chat",
            "override": "an order to set rules aside",
            "addressed": "an AI system that is told what to say",
            "begging": "a plea for a mark",
            "disguise": "letters that only look like others",
            "hidden": "text hidden from readers",
            "model": "as a language model read it",
        }
    )
    """What each signal means by which a source speaks to AI systems, for readers."""
