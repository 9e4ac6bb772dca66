"""Small files that become large when they are read: they end a process of their own, and nothing else."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contend.sources.readers import read_document
from contend.sources.readers.document import Document, Unreadable
from contend.sources.readers.html import LARGE_PAGE, html_to_markdown
from contend.sources.readers.pdf import read_pdf
from contend.sources.readers.process import read_apart
from contend.sources.readers.word import read_docx
from fakes.files import make_attributes_bomb, make_docx, make_docx_bomb, make_pdf, make_pdf_bomb

HERE = Path("file")
MEASURE = """
import json, resource, sys
from pathlib import Path
from contend.sources.readers.document import Unreadable
from contend.sources.readers import read_document

def tried(path):
    try:
        return read_document(Path(path)).text
    except Unreadable as error:
        return f"unreadable: {error}"

said = [tried(path) for path in sys.argv[1:]]
asked = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]  # as rusage, without the test's own
from contend.sources.readers import process
for _ in range(process._MOST_PROCESSES):
    if child := process._places.get():
        child._end()
print(json.dumps([said, int(asked), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))
"""


def read_and_measure(*files: Path) -> tuple[list[str], int, int]:
    """What was read of each file, and the most kilobytes that who asked and who read had in memory."""
    ran = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", MEASURE, *map(str, files)], capture_output=True, text=True, check=True
    )
    lines, parent_kilobytes, child_kilobytes = json.loads(ran.stdout)
    return lines, parent_kilobytes, child_kilobytes


@pytest.mark.parametrize(
    ("name", "bomb"),
    [
        ("bomb.pdf", lambda: make_pdf_bomb(times=3_000_000)),
        ("bomb.docx", lambda: make_docx_bomb(paragraphs=8_000_000)),
        ("bomb.html", lambda: make_attributes_bomb(attributes=600_000)),
    ],
)
@pytest.mark.timeout(400)
def test_a_bomb_takes_its_own_process_and_the_document_after_it_is_read(
    tmp_path: Path, name: str, bomb: Callable[[], bytes]
) -> None:
    (tmp_path / name).write_bytes(bomb())
    (tmp_path / "good.pdf").write_bytes(make_pdf([["Wind hums."]]))

    (_, good), parent_kilobytes, child_kilobytes = read_and_measure(tmp_path / name, tmp_path / "good.pdf")

    assert good == "## p. 1\n\nWind hums."
    assert parent_kilobytes < 200_000
    assert child_kilobytes < 1_000_000


def test_a_document_that_takes_too_long_ends_its_process_and_not_the_next_one() -> None:
    with pytest.raises(Unreadable, match=r"^not read within 0\.001 s$"):
        read_apart(".pdf", make_pdf([["Wind hums."]] * 500), HERE, most_seconds=0.001)

    assert read_apart(".pdf", make_pdf([["Wind hums."]]), HERE).text == "## p. 1\n\nWind hums."


def test_a_document_that_ends_its_reader_is_named_and_not_the_next_one() -> None:
    with pytest.raises(Unreadable, match=r"or breaks what reads it$"):
        read_apart("no such kind", b"x", HERE)

    assert read_apart(".pdf", make_pdf([["Wind hums."]]), HERE).text == "## p. 1\n\nWind hums."


@pytest.mark.parametrize(
    ("kind", "content", "reader"),
    [
        (".pdf", make_pdf([["# Humming bridges", "Wind hums."], ["橋が風で鳴る。"]], title="A study"), read_pdf),
        (".docx", make_docx(("Title", "Humming"), ("Normal", "風が鳴る。"), [["a", "b"], ["1", "2"]]), read_docx),
    ],
)
def test_what_is_read_apart_is_what_its_reader_reads(
    kind: str, content: bytes, reader: Callable[[bytes, Path], Document]
) -> None:
    assert read_apart(kind, content, HERE) == reader(content, HERE)


def test_why_a_document_is_unreadable_is_told_by_its_reader() -> None:
    with pytest.raises(Unreadable, match=r"^broken, or no Word document$"):
        read_apart(".docx", b"no archive", HERE)


def test_a_large_page_is_read_as_a_small_one_is(tmp_path: Path) -> None:
    page = "<title>Wind</title><h1>Humming</h1>" + "<p>Bridges hum in the wind.</p>" * (LARGE_PAGE // 20)
    file = tmp_path / "large.html"
    file.write_text(page, "utf-8")

    assert read_document(file).text == html_to_markdown(page).text
