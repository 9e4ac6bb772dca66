"""Which teams say a statement of the published report, and where their reports contradict each other."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contend.checks.proof import overlap
from contend.models.evaluation import Submission
from contend.models.record import Language
from contend.models.replies import DisagreementReply
from contend.models.research import (
    SHOWN_BY_PASSAGES,
    CitedSentence,
    Disagreement,
    Draft,
    Passage,
    ResearchReport,
    TeamStatement,
)
from contend.report import Origin
from contend.report.build import addresses_in, presentable
from contend.report.plain import plain_text
from contend.text import WORDS, count_text, shorten, words_and_code
from contend.writing import PlantedOrders, Statement, with_statements

SEVERAL = 2
"""From this many teams on, a statement counts as found by several."""
_LONGEST_FOUND = 90


class ReportedBy(NamedTuple):
    """A team's report that the editor merges."""

    team_id: str
    team: str
    submission: Submission


Reports = Mapping[str, ReportedBy]
"""The teams' reports by the letter that the editor knows them by."""


def with_teams(draft: Draft, reports: Reports) -> Draft:
    """The draft with team ids in place of the letters of reports.

    A team that holds none of a statement's passages is dropped: it cannot have said the same from them.
    """
    placed = {each.place: each.sentence for each in draft.placed_sentences()}
    places = {each.id: _place(each) for report in reports.values() for each in report.submission.passages}
    passage_keys = {
        letter: {key for each in report.submission.passages for key in (each.id, _place(each))}
        for letter, report in reports.items()
    }

    def of_teams(place: str, statement: Statement) -> Statement:
        keys = {key for each in placed[place].passages for key in (each, places.get(each, each))}
        letters = [each for each in statement.teams if each in reports and (not keys or keys & passage_keys[each])]
        return statement.model_copy(update={"teams": [reports[each].team_id for each in letters]})

    return with_statements(draft, of_teams)


def _place(passage: Passage) -> str | tuple[str, int]:
    """Its document and section; its id where the section is not known."""
    return (passage.url, passage.place) if passage.place else passage.id


def _placed(reports: Reports) -> dict[str, tuple[ReportedBy, CitedSentence]]:
    """What the reports say, by letter and place such as `A 2.1.3`."""
    return {
        f"{letter} {at.place}": (report, at.sentence)
        for letter, report in reports.items()
        for at in report.submission.draft.placed_sentences()
    }


def faults_of_disagreements(replies: Sequence[DisagreementReply], reports: Reports) -> list[str]:
    """What is wrong with the disagreements that the editor names, a line each."""
    places = _placed(reports)
    return [
        f"disagreement {number}: {fault}"
        for number, reply in enumerate(replies, start=1)
        if (fault := _fault(reply, places, reports))
    ]


def _fault(reply: DisagreementReply, places: Mapping[str, tuple[ReportedBy, CitedSentence]], reports: Reports) -> str:
    if unknown := [each for each in reply.sides if each not in places]:
        return f"no report has the statement {', '.join(unknown)}"
    teams = {places[each][0].team_id for each in reply.sides}
    if len(teams) < SEVERAL:
        return "its sides are of one report"
    if reply.decided and (reply.decided not in reports or reports[reply.decided].team_id not in teams):
        return f"report {reply.decided} is none of its sides"
    return ""


def disagreements_of(
    replies: Sequence[DisagreementReply], reports: Reports, planted: PlantedOrders
) -> list[Disagreement]:
    """The disagreements that the editor names, with the statements of both sides, word for word.

    One is left out that names what no report has, or that repeats what a source orders.
    """
    places = _placed(reports)
    return [
        Disagreement(
            point=reply.point,
            sides=[_side(place, *places[place], planted) for place in dict.fromkeys(reply.sides)],
            why=reply.why,
            decided=reports[reply.decided].team_id if reply.decided else "",
        )
        for reply in replies
        if not _fault(reply, places, reports)
        and all(planted.source_of(each) is None for each in (reply.point, reply.why))
    ]


def _side(place: str, report: ReportedBy, statement: CitedSentence, planted: PlantedOrders) -> TeamStatement:
    return TeamStatement(
        team_id=report.team_id,
        team=report.team,
        place=place.partition(" ")[2],
        text=statement.text,
        quotes=[each for each in statement.quotes if planted.source_of(each) is None],
    )


def with_disagreements(report: ResearchReport, draft: Draft, passages: Sequence[Passage]) -> ResearchReport:
    """The report with what its teams disagreed on, as Markdown. `passages`: of the draft, with their texts."""
    printable_urls = addresses_in(passages, (source.url for source in report.sources))
    disagreements = [
        each.model_copy(
            update={
                "point": plain_text(each.point, printable_urls),
                "why": plain_text(each.why, printable_urls),
                "sides": [
                    side.model_copy(update={"text": plain_text(side.text, printable_urls) or side.text})
                    for side in each.sides
                ],
            }
        )
        for each in draft.disagreements
    ]
    return report.model_copy(update={"disagreements": disagreements})


class Agreement(NamedTuple):
    """The teams with a report, and for each printed statement of the published one, by place, those that say it."""

    teams: Sequence[str]
    origins: Mapping[str, Origin]

    def lines(self, draft: Draft, language: Language) -> list[str]:
        """How many statements several teams found independently, then those of the opening by name."""
        words, every = WORDS[language].agreement, len(self.teams)
        counts = Counter(len(each.found_by) for each in self.origins.values() if each.found_by)
        lines = [
            words.found_count.format(count=count, teams=every, statements=count_text(number, "statements", language))
            for count, number in sorted(counts.items(), reverse=True)
        ]
        for at in presentable(draft).placed_sentences():
            found_by = self.origins[at.place].found_by
            if found_by and at.place.startswith(("summary", "finding")):
                text = shorten(words_and_code(at.sentence.text).words, _LONGEST_FOUND).rstrip(".。")
                lines.append(words.found_statement.format(text=text, count=len(found_by), teams=every))
        return list(dict.fromkeys(lines))


def agreement_of(
    draft: Draft, passages: Sequence[Passage], reports: Mapping[str, Submission], own: str | None
) -> Agreement:
    """Which teams say the printed statements of a draft, and which found them independently. Blocking.

    `passages`: of the draft, with their texts; `reports`: each team's best, by its id; `own`: the team whose report
    the draft is. Teams are those that the editor named; where it named none, those that quote the same words.
    """
    by_id = {each.id: each for each in passages}
    quotations = {team_id: _Quotations(submission) for team_id, submission in reports.items()}
    origins = {}
    for at in presentable(draft).placed_sentences():
        statement, sources = at.sentence, [by_id[each] for each in at.sentence.passages if each in by_id]
        quoting = {team: {*each.of_same_words(statement, sources)} for team, each in quotations.items()}
        teams = statement.teams or [team for team in reports if team == own or quoting[team]]
        found_by = [
            team
            for team in teams
            if team in reports and (quoting[team] | quotations[team].cited(sources)) & {*reports[team].own}
        ]
        is_found = statement.kind in SHOWN_BY_PASSAGES and not statement.refuted and len(found_by) >= SEVERAL
        origins[at.place] = Origin(teams, found_by if is_found else [])
    return Agreement([*reports], origins)


class _Quotations:
    """What a team's report quotes, by document; not what code refutes of it."""

    def __init__(self, submission: Submission) -> None:
        urls = {each.id: each.url for each in submission.passages}
        self._cited = set[str]()
        self._by_url = defaultdict[str, list[tuple[str, str]]](list)
        for statement in submission.draft.sentences():
            cited_ids = [each for each in statement.passages if each in urls and not statement.refuted]
            self._cited.update(cited_ids)
            for each in cited_ids:
                self._by_url[urls[each]] += [(each, quote) for quote in statement.quotes]

    def cited(self, sources: Sequence[Passage]) -> set[str]:
        """Those of these passages that the report cites, by id."""
        return {each.id for each in sources} & self._cited

    def of_same_words(self, statement: CitedSentence, sources: Sequence[Passage]) -> Iterator[str]:
        """The ids of the passages from which the report quotes words that the statement quotes, too."""
        for source in sources:
            for passage, quote in self._by_url.get(source.url, []):
                if any(overlap(own, quote, source) for own in statement.quotes):
                    yield passage
