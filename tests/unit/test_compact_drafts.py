"""Drafts of models that read little: a flat list of sentences with the numbers of passages."""

import pytest

from contend.errors import DraftError
from contend.models.replies import DraftReply, SentenceReply, draft_reply
from contend.models.research import CitedSentence, Draft, Passage
from contend.research.compact import draft_of

OFFERED = [Passage(id=f"{number:064d}", url=f"https://a.org/{number}", title="A") for number in (1, 2)]


def _reply(*analysis: tuple[str, list[int]], limits: tuple[str, ...] = ()) -> DraftReply:
    sentences = [{"text": text, "sources": sources} for text, sources in analysis]
    first = [{"text": "Bridges hum in the wind.", "sources": [1]}]
    finding = [{"text": "Dampers quieten most of them.", "sources": [1]}]
    return DraftReply.model_validate(
        {
            "summary": first,
            "findings": finding,
            "analysis": [*first, *sentences],
            "limits": [{"text": text, "sources": []} for text in limits],
            "bullets": [],
        }
    )


def analysis(draft: Draft) -> list[CitedSentence]:
    return [sentence for section in draft.sections for sentence in section.statements()]


def test_what_a_model_wrote_stays_word_for_word() -> None:
    sentence = ('Slats sing. And\u200b "hum": `x[0]`, why? The slats of the west railing do not…', [1])

    draft = draft_of(_reply(sentence, sentence), OFFERED, [])

    assert [sentence.text for sentence in analysis(draft)][1:] == [
        'Slats sing. And "hum": `x[0]`, why? The slats of the west railing do not…'
    ] * 2


def test_a_source_that_was_not_offered_is_not_cited_and_another_once() -> None:
    draft = draft_of(_reply(("Wind sheds vortices.", [7, 2, 0]), ("Slats sing.", [2, 2])), OFFERED, [])

    assert [sentence.passages for sentence in analysis(draft)[1:]] == [[OFFERED[1].id]] * 2


@pytest.mark.parametrize(("offered", "kept"), [(0, []), (2, [2, 1])])
def test_bullets_that_a_model_makes_up_spoil_no_draft(offered: int, kept: list[int]) -> None:
    reply = _reply(("Vortices are shed.", [])).model_dump() | {"bullets": [2, 7, "b-1", 0, 1, *range(3, 20)]}

    assert draft_reply(2, offered).model_validate(reply).bullets == kept


def test_bullets_that_were_used_are_noted_once_as_far_as_there_are_such() -> None:
    reply = _reply(("Wind sheds vortices.", [1])).model_copy(update={"bullets": [2, 0, 2, 3, 1]})

    assert draft_of(reply, OFFERED, [{"id": "b-1"}, {"id": "b-2"}]).bullets_used == ["b-2", "b-1"]


@pytest.mark.parametrize("part", ["summary", "findings", "analysis"])
def test_a_part_without_text_makes_no_draft(part: str) -> None:
    empty = [SentenceReply(text=" \u200b ", sources=[1])]

    with pytest.raises(DraftError, match=f"the writer's {part} holds no text"):
        draft_of(_reply(("Slats sing.", [1])).model_copy(update={part: empty}), OFFERED, [])


def test_a_sentence_without_text_is_left_out() -> None:
    assert len(analysis(draft_of(_reply((" \u200b ", [1])), OFFERED, []))) == 1
