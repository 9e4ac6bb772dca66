import pytest

from contend.errors import DraftError
from contend.models.replies import LONGEST_SENTENCE, DraftReply, SentenceReply, draft_reply
from contend.models.research import Passage
from contend.research.writing import draft_of, whole

OFFERED = [Passage(id=f"{number:064d}", url=f"https://a.org/{number}", title="A") for number in (1, 2)]


def _reply(*analysis: tuple[str, list[int]], limits: tuple[str, ...] = ()) -> DraftReply:
    said = [{"text": text, "sources": sources} for text, sources in analysis]
    first = [{"text": "Bridges hum in the wind.", "sources": [1]}]
    finding = [{"text": "Dampers quieten most of them.", "sources": [1]}]
    return DraftReply.model_validate(
        {
            "summary": first,
            "findings": finding,
            "analysis": [*first, *said],
            "limits": [{"text": text, "sources": []} for text in limits],
            "bullets": [],
        }
    )


def test_a_sentence_that_the_limit_cut_off_is_left_out_and_whole_ones_before_it_stay() -> None:
    complete = "Vortices are shed from the cables in turn. " * 9
    cut = (complete + "The athlete may need to work on different sub")[:LONGEST_SENTENCE].ljust(LONGEST_SENTENCE, "x")

    assert whole(cut) == complete.strip()
    assert whole(cut[:-3].strip()) == complete.strip()
    assert whole("x" * LONGEST_SENTENCE) == ""
    assert whole("Short and without an end") == "Short and without an end"


@pytest.mark.parametrize(("share", "cut"), [(0.96, True), (0.9, False)])
def test_white_space_at_its_end_counts_against_a_sentences_limit(share: float, cut: bool) -> None:
    text = "x" * round(share * LONGEST_SENTENCE)

    assert whole(text) == ("" if cut else text)


def test_a_sentence_copied_from_a_cut_one_is_left_out() -> None:
    assert whole("Bridges hum. The slats of the west railing do not…") == "Bridges hum."
    assert whole("Bridges hum. The slats of the west") == "Bridges hum."
    assert whole("Bridges hum. The slats of the west railing do not...") == "Bridges hum."
    assert whole("The slats of the west railing do not…") == ""
    assert whole("橋は鳴る。西の欄干の板") == "橋は鳴る。"


@pytest.mark.parametrize("end", ["sing!", "sing?", "sing (in the west)", "say “hum.”", "歌う（西で）", "「鳴る」"])
def test_a_sentence_may_end_in_a_mark_a_bracket_or_a_quotation(end: str) -> None:
    assert whole(f"Bridges hum. Slats {end}") == f"Bridges hum. Slats {end}"


@pytest.mark.parametrize("piece", ['If the `-", "sources" : [ ]}, {', 'If the wind blows, {"text": "bridges hum'])
def test_a_sentence_that_holds_a_piece_of_the_reply_is_left_out(piece: str) -> None:
    broken = f"Cables swing. {piece} and so on. Slats\nsing."

    draft = draft_of(_reply((broken, [1])), OFFERED, [])

    assert draft.analysis[1].text == "Cables swing. Slats sing."


def test_a_part_says_each_sentence_once() -> None:
    draft = draft_of(_reply(("Wind sheds vortices.", [2]), ("Wind  sheds *vortices*.", [1])), OFFERED, [])

    assert [sentence.text for sentence in draft.analysis] == ["Bridges hum in the wind.", "Wind sheds vortices."]
    assert draft.analysis[1].passages == [OFFERED[1].id]


def test_an_entry_of_several_sentences_tells_only_what_was_not_told_before() -> None:
    draft = draft_of(
        _reply(
            ("Bridges hum in the wind. Slats sing.", [2]), ("橋は鳴る。板は歌う。", [1]), ("板は歌う。風が弱い。", [1])
        ),
        OFFERED,
        [],
    )

    assert [sentence.text for sentence in draft.analysis[1:]] == ["Slats sing.", "橋は鳴る。板は歌う。", "風が弱い。"]


def test_a_source_that_was_not_offered_is_not_cited_and_another_once() -> None:
    draft = draft_of(_reply(("Wind sheds vortices.", [7, 2, 0]), ("Slats sing.", [2, 2])), OFFERED, [])

    assert [sentence.passages for sentence in draft.analysis[1:]] == [[OFFERED[1].id]] * 2


@pytest.mark.parametrize(("offered", "kept"), [(0, []), (2, [2, 1])])
def test_bullets_that_a_model_makes_up_spoil_no_draft(offered: int, kept: list[int]) -> None:
    said = _reply(("Vortices are shed.", [])).model_dump() | {"bullets": [2, 7, "b-1", 0, 1, *range(3, 20)]}

    assert draft_reply(2, offered).model_validate(said).bullets == kept


def test_bullets_that_were_used_are_noted_once_as_far_as_there_are_such() -> None:
    reply = _reply(("Wind sheds vortices.", [1])).model_copy(update={"bullets": [2, 0, 2, 3, 1]})

    assert draft_of(reply, OFFERED, [{"id": "b-1"}, {"id": "b-2"}]).bullets_used == ["b-2", "b-1"]


@pytest.mark.parametrize("part", ["summary", "findings", "analysis"])
def test_a_part_without_text_makes_no_draft(part: str) -> None:
    empty = [SentenceReply(text=" \u200b ", sources=[1])]

    with pytest.raises(DraftError, match=f"the writer's {part} holds no text"):
        draft_of(_reply(("Slats sing.", [1])).model_copy(update={part: empty}), OFFERED, [])


def test_a_sentence_without_text_is_left_out() -> None:
    assert len(draft_of(_reply((" \u200b ", [1])), OFFERED, []).analysis) == 1


def test_what_a_finding_says_is_left_out_of_analysis_and_limits_and_the_summary_may_say_it() -> None:
    reply = _reply(
        ("Most of them dampers quieten.", [2]), ("Most of them, dampers quieten!", [2]), ("Slats sing.", [1])
    )
    told = [SentenceReply(text="Dampers quieten most of them.", sources=[1])]

    draft = draft_of(reply.model_copy(update={"summary": told, "limits": told}), OFFERED, [])

    assert [sentence.text for sentence in draft.summary] == ["Dampers quieten most of them."]
    assert [sentence.text for sentence in draft.analysis] == ["Bridges hum in the wind.", "Slats sing."]
    assert draft.limits == []


def test_an_analysis_that_only_repeats_the_findings_stays_and_says_each_thing_once() -> None:
    reply = _reply(("Slats sing.", [1]))
    repeated = [SentenceReply(text="Dampers quieten most of them.", sources=[2])] * 2

    draft = draft_of(reply.model_copy(update={"analysis": repeated}), OFFERED, [])

    assert [sentence.text for sentence in draft.analysis] == ["Dampers quieten most of them."]


def test_a_question_is_no_statement_unless_a_part_holds_nothing_else() -> None:
    asked = [SentenceReply(text="Why do bridges hum?", sources=[1])]
    reply = _reply(("Why do slats sing? The wind passes them.", [1]), ("橋はなぜ鳴るのか？", [1]))

    draft = draft_of(reply.model_copy(update={"findings": asked}), OFFERED, [])

    assert [sentence.text for sentence in draft.analysis[1:]] == ["The wind passes them."]
    assert [sentence.text for sentence in draft.findings] == ["Why do bridges hum?"]


def test_questions_among_the_limits_stay_as_far_as_nothing_answers_them() -> None:
    answered, still_open = "Do bridges hum in the wind?", "What does a damper cost?"

    draft = draft_of(
        _reply(("Slats sing.", [1]), limits=(answered, still_open, "The price is not known.")), OFFERED, []
    )

    assert [sentence.text for sentence in draft.limits] == [still_open, "The price is not known."]
