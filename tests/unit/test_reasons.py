"""Why files, pages and sources were not read, in the language of the run."""

import re
from pathlib import Path

import pytest

from contend import sources
from contend.sources.local import LeftOut, reason_lines
from contend.text import reason_text

SOURCES = Path(sources.__file__).parent
_RAISED = re.compile(r'Unreadable\((f?)"([^"]+)"\)')
_JAPANESE = re.compile(r"[ぁ-んァ-ヶ一-龠]")


def raised_reasons() -> list[str]:
    """Every reason that a reader of files or pages raises, with numbers for what is filled in."""
    code = "".join(path.read_text("utf-8") for path in sorted(SOURCES.rglob("*.py")))
    return [re.sub(r"{[^}]*}", "7", text) if is_filled else text for is_filled, text in _RAISED.findall(code)]


def test_each_reason_that_a_reader_raises_is_said_in_japanese_too() -> None:
    reasons = raised_reasons()

    assert len(reasons) > 20
    reasons.remove("HTTP 7")  # is the same in Japanese
    assert [each for each in reasons if not _JAPANESE.search(reason_text(each, "ja"))] == []
    assert [reason_text(each, "en") for each in reasons] == reasons


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("68 MB, over 50 MB", "68 MBで、上限の50 MBを超える"),
        ("cannot be opened: Permission denied", "開けない（「Permission denied」）"),
        ("no connection to export.arxiv.org (Name or service not known)",
         "export.arxiv.org に接続できない（「Name or service not known」）"),
        ("arXiv is busy or down (HTTP 503, asks to wait 9 s): try again later",
         "arXiv は混雑か停止中（HTTP 503、9秒待つよう求めている）。後でやり直してください"),
        ("only the first 300 of 900 pages are read; pages that cannot be read: 3, 5",
         "全900ページのうち最初の300ページだけを読んだ; 読めないページ: 3, 5"),
        ("the words of a service", "the words of a service"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_reason_is_said_in_japanese_and_what_it_quotes_stays(reason: str, shown: str) -> None:
    assert reason_text(reason, "ja") == shown


def test_files_left_out_are_named_with_their_reason_in_either_language(tmp_path: Path) -> None:
    left_out = [LeftOut(tmp_path / f"{number}.pdf", "broken, or no PDF") for number in range(7)]

    assert reason_lines(left_out, [tmp_path], "en") == [
        "0.pdf, 1.pdf, 2.pdf, 3.pdf, 4.pdf and 2 more (broken, or no PDF)"
    ]
    assert reason_lines(left_out, [tmp_path], "ja") == [
        "0.pdf, 1.pdf, 2.pdf, 3.pdf, 4.pdf ほか2件（壊れているか、PDFではない）"
    ]
