from contend.models.replies import LONGEST_SENTENCE, DraftReply
from contend.models.research import Passage
from contend.research.writing import draft_of, whole

OFFERED = [Passage(id=f"{number:064d}", url=f"https://a.org/{number}", title="A") for number in (1, 2)]


def _reply(*analysis: tuple[str, list[int]]) -> DraftReply:
    said = [{"text": text, "sources": sources} for text, sources in analysis]
    first = [{"text": "Bridges hum in the wind.", "sources": [1]}]
    return DraftReply.model_validate(
        {"summary": first, "findings": first, "analysis": [*first, *said], "limits": [], "bullets": []}
    )


def test_a_sentence_that_the_limit_cut_off_is_left_out_and_whole_ones_before_it_stay() -> None:
    complete = "Vortices are shed from the cables in turn. " * 9
    cut = (complete + "The athlete may need to work on different sub")[:LONGEST_SENTENCE].ljust(LONGEST_SENTENCE, "x")

    assert whole(cut) == complete.strip()
    assert whole(cut[:-3].strip()) == complete.strip()
    assert whole("x" * LONGEST_SENTENCE) == ""
    assert whole("Short and without an end") == "Short and without an end"


def test_a_sentence_copied_from_a_cut_one_is_left_out() -> None:
    assert whole("Bridges hum. The slats of the west railing do not…") == "Bridges hum."
    assert whole("Bridges hum. The slats of the west") == "Bridges hum."


def test_a_sentence_that_holds_a_piece_of_the_reply_is_left_out() -> None:
    broken = 'Bridges hum. If the `-", "sources" : [ ]}, {"text": "If the wind is weak, they do not. Slats sing.'

    draft = draft_of(_reply((broken, [1])), OFFERED, [])

    assert draft.analysis[1].text == "Bridges hum. Slats sing."


def test_a_part_says_each_sentence_once() -> None:
    draft = draft_of(_reply(("Wind sheds vortices.", [2]), ("Wind sheds vortices.", [1])), OFFERED, [])

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


def test_a_source_that_was_not_offered_is_not_cited() -> None:
    draft = draft_of(_reply(("Wind sheds vortices.", [7, 2])), OFFERED, [])

    assert draft.analysis[1].passages == [OFFERED[1].id]
