"""What a report leaves open: by its judges' verdicts on the run's criteria, its parts, and its statements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contend.models.evaluation import CriterionLevel, MetricScore
from contend.models.record import Language
from contend.models.research import Part, PartState
from contend.text import WORDS


@dataclass(frozen=True)
class Shortfall:
    """`verdicts`: by a criterion's number, {} where nobody judged by criteria; `parts`: states by a part's text.

    `unsupported`: statements that code refutes or judges do not accept; `in_part`: those that they accept in part;
    `fixes`: what judges want changed; `contradicted`: statements that their passages contradict, where it was counted.
    """

    verdicts: Mapping[str, CriterionLevel] = field(default_factory=dict)
    parts: Mapping[str, PartState] = field(default_factory=dict)
    unsupported: int = 0
    in_part: int = 0
    fixes: int = 0
    contradicted: int = 0

    @property
    def is_judged(self) -> bool:
        return bool(self.verdicts)

    @property
    def achieved(self) -> frozenset[str]:
        """The criteria that are met and the parts that are answered."""
        met = {number for number, level in self.verdicts.items() if level == "met"}
        return frozenset(met | {text for text, state in self.parts.items() if state == "answered"})

    @property
    def needs_research(self) -> bool:
        """Whether a part of the question asks for more than what the team holds says."""
        return self.parts_in("open", "partly") > 0

    def criteria(self, level: CriterionLevel) -> int:
        return sum(each == level for each in self.verdicts.values())

    def parts_in(self, *states: PartState) -> int:
        return sum(each in states for each in self.parts.values())

    def for_revision(self, language: Language) -> str:
        """What another round of the same team may mend, in words; "" where nothing is left."""
        words = WORDS[language].steps
        return self._in_words(
            {
                words.unmet: self.criteria("unmet"),
                words.partly: self.criteria("partly"),
                words.open_parts: self.parts_in("open"),
                words.unsupported: self.unsupported,
            },
            language,
        )

    def for_mending(self, language: Language) -> str:
        """What a round may mend that looks for nothing, in words; "" where nothing is left."""
        words = WORDS[language].steps
        return self._in_words(
            {words.unsupported: self.unsupported, words.in_part: self.in_part, words.fixes: self.fixes}, language
        )

    def for_other_team(self, language: Language, *, other_sources: bool) -> str:
        """What a further team may bring, in words; "" where nothing is left.

        What sources do not tell, only others may: `other_sources`.
        """
        words = WORDS[language].steps
        states: tuple[PartState, ...] = ("open", "not_found") if other_sources else ("open",)
        return self._in_words(
            {
                words.unmet: self.criteria("unmet"),
                words.open_parts: self.parts_in(*states),
                words.contradicted: self.contradicted,
            },
            language,
        )

    def _in_words(self, counts: Mapping[str, int], language: Language) -> str:
        lines = (text.format(count=count, criteria=len(self.verdicts)) for text, count in counts.items() if count)
        return WORDS[language].steps.separator.join(lines)


def shortfall_of(metrics: Sequence[MetricScore], parts: Sequence[Part], *, contradicted: int = 0) -> Shortfall:
    """What a judged submission leaves open, by its metrics and parts."""
    verdicts = next((each.verdicts for each in metrics if each.name == "coverage"), {})
    unsupported = {text for each in metrics if each.name == "citation_support" for text in each.evidence}
    unsupported |= {text for each in metrics for text in each.doubted}
    return Shortfall(
        verdicts=verdicts,
        parts={part.text: part.state for part in parts},
        unsupported=len(unsupported),
        in_part=len({text for each in metrics for text in each.partly} - unsupported),
        fixes=sum(len(each.fixes) for each in metrics),
        contradicted=contradicted,
    )
