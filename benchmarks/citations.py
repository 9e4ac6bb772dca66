"""How well code tells what a source says: on sentences of our own making, and on experts' answers.

    python benchmarks/citations.py [FOLDER]

FOLDER holds `citations/expert_answers.json` (ScholarQABench, scholarqa_multi/human_answers.json). Without it only the
sentences of citations_en.toml and citations_ja.toml are checked. Rules and thresholds were chosen on the first half of
each file; of the second half it was seen once which sentences failed, and some rules were mended for their kind.
"""

import json
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from contend.checks import Claim, Level, PassageText, check_claim
from contend.text import split_sentences, terms

CHANGES = ("negated", "year", "unit", "name", "half")
TRUE = ("close", "paraphrased")
_MARK = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")
_FEWEST_TERMS = 3


class Sentence(NamedTuple):
    """A sentence of our own about a text: its kind says how it was changed, or how it repeats the text."""

    kind: str
    text: str
    source: PassageText


def sentences(language: str, *, chosen_on: bool) -> Iterator[Sentence]:
    """Those that rules were chosen on, or the others."""
    path = Path(__file__).with_name(f"citations_{language}.toml")
    sources = tomllib.loads(path.read_text("utf-8"))["source"]
    half = len(sources) // 2
    for source in sources[:half] if chosen_on else sources[half:]:
        passage = PassageText(source["title"], source["title"], source["text"].strip())
        for kind in (*CHANGES, *TRUE):
            each = source[kind]
            yield from (Sentence(kind, text, passage) for text in ([each] if isinstance(each, str) else each))


def levels(language: str, *, chosen_on: bool) -> dict[str, Counter[Level]]:
    """How many sentences of each kind are shown as what."""
    counted: dict[str, Counter[Level]] = {}
    for sentence in sentences(language, chosen_on=chosen_on):
        level = check_claim(Claim(text=sentence.text), [sentence.source]).level
        counted.setdefault(sentence.kind, Counter())[level] += 1
    return counted


class Pair(NamedTuple):
    """A sentence of an expert's answer with passages: its own (`own`), others of that answer, or another answer's."""

    kind: str
    text: str
    cited: list[PassageText]
    offered: list[PassageText]


def expert_pairs(folder: Path) -> list[Pair]:
    """Each citing sentence with its own passages, with each other of its answer, and with one of another answer."""
    answers = list(_answers(folder))
    pairs = []
    for place, (passages, cited_sentences) in enumerate(answers):
        elsewhere = answers[(place + len(answers) // 2) % len(answers)][0]
        for order, (text, cited) in enumerate(cited_sentences):
            pairs.append(Pair("own", text, [passages[number] for number in cited], passages))
            others = [passage for number, passage in enumerate(passages) if number not in cited]
            pairs += [Pair("near", text, [other], passages) for other in others]
            pairs.append(Pair("far", text, [elsewhere[order % len(elsewhere)]], elsewhere))
    return pairs


def _answers(folder: Path) -> Iterator[tuple[list[PassageText], list[tuple[str, list[int]]]]]:
    entries = json.loads((folder / "citations" / "expert_answers.json").read_text("utf-8"))
    for answer, entry in enumerate(entries):
        contexts = enumerate(entry["ctxs"])
        passages = [
            PassageText(f"{answer}.{number}", str(each["title"]), str(each["text"])) for number, each in contexts
        ]
        found = [_cited(sentence, len(passages)) for sentence in split_sentences(entry["output"])]
        yield passages, [(text, cited) for text, cited in found if cited and len(terms(text)) >= _FEWEST_TERMS]


def _cited(sentence: str, passages: int) -> tuple[str, list[int]]:
    numbers = {int(number) for mark in _MARK.findall(sentence) for number in mark.split(",")}
    return " ".join(_MARK.sub("", sentence).split()), [number for number in sorted(numbers) if number < passages]


def taken(pairs: list[Pair]) -> dict[bool, dict[str, float]]:
    """The share of each kind that is shown as supported or near, with the other passages (True) and without them.

    Both in turn for each pair: what a check keeps of its texts serves the other one.
    """
    counted = {with_others: defaultdict[str, Counter[bool]](Counter) for with_others in (True, False)}
    for pair in pairs:
        for with_others, of_kinds in counted.items():
            check = check_claim(Claim(text=pair.text), pair.cited, pair.offered if with_others else ())
            of_kinds[pair.kind][check.level != "unsupported"] += 1
    return {
        with_others: {kind: counts[True] / counts.total() for kind, counts in of_kinds.items()}
        for with_others, of_kinds in counted.items()
    }


def balanced(shares: dict[str, float]) -> float:
    """Balanced accuracy; wrong passages are in equal parts others of the same answer and those of another."""
    return (shares["own"] + 1 - (shares["near"] + shares["far"]) / 2) / 2


def _print_own(*, chosen_on: bool) -> None:
    print("chosen on:" if chosen_on else "\nthe others:")
    total: Counter[tuple[bool, Level]] = Counter()
    for language in ("en", "ja"):
        for kind, counts in levels(language, chosen_on=chosen_on).items():
            print(
                f"  {language} {kind:12}",
                *(f"{level} {counts[level]:3}" for level in ("supported", "near", "unsupported")),
            )
            for level, count in counts.items():
                total[kind in TRUE, level] += count
    changed = sum(count for (right, _), count in total.items() if not right)
    true = sum(count for (right, _), count in total.items() if right)
    shown = total[True, "supported"] + total[False, "supported"]
    print(f"  changed sentences shown as supported: {total[False, 'supported']} of {changed}")
    print(f"  true sentences shown as supported or near: {true - total[True, 'unsupported']} of {true}")
    print(f"  of those shown as supported so many are: {total[True, 'supported']} of {shown}")


def main() -> None:
    for chosen_on in (True, False):
        _print_own(chosen_on=chosen_on)
    if len(sys.argv) > 1:
        for with_others, shares in taken(expert_pairs(Path(sys.argv[1]))).items():
            print("\nexperts' citations,", "held against all passages at hand:" if with_others else "by themselves:")
            print("  taken:", *(f"{kind} {share:.3f}" for kind, share in shares.items()))
            print(f"  balanced accuracy: {balanced(shares):.3f}")


if __name__ == "__main__":
    main()
