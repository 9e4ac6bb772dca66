"""Local documents: which files are read, how they are split, what a search finds."""

import asyncio
import os
import threading
import tracemalloc
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from contend.errors import InputError
from contend.models.research import FoundPassage
from contend.retrieval import default_embedder
from contend.sources.local import LocalDocuments, list_files, validate_paths
from contend.sources.local_index import LocalFile, TitleMentions, index_file
from contend.sources.passages import split_passages
from contend.sources.readers import read_document
from contend.sources.readers.document import Unreadable, decode
from contend.sources.readers.html import html_to_markdown
from contend.text import split_sentences

BRIDGE = "The Tacoma Narrows Bridge fell in 1940. It hummed and twisted in a steady wind."
TEA = "Green tea is steamed soon after picking. Black tea is left to oxidise."
JAPANESE_BRIDGE = "橋が風で鳴るのは、渦が両側から放出されるためである。設計者は風洞で断面を試す。"
JAPANESE_TEA = "緑茶は摘んだあとすぐに蒸す。紅茶は葉を発酵させて作る。"


class Counting:
    """An embedder that says nothing and counts the texts it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.texts += texts
        return np.zeros((len(texts), 4), dtype=np.float32)


class HeldSource(Counting):
    """Waits at its first text until told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.begun.set()
        self.go_on.wait(timeout=60)
        return super().embed(texts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    return folder


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def file_names(results: list[FoundPassage]) -> list[str]:
    return [Path(unquote(urlsplit(each.result.url).path)).name for each in results]


def reasons(source: LocalDocuments) -> dict[str, str]:
    return {file.path.name: file.reason for file in source.left_out}


# -- which files


def test_a_path_that_does_not_exist_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere does not exist"):
        LocalDocuments([tmp_path / "nowhere"])


def test_a_file_of_an_unknown_kind_given_by_name_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"tune\.mp3 is of no known kind"):
        validate_paths([write(folder, "tune.mp3", b"ID3")])


async def test_plain_text_with_an_ending_of_its_own_is_read(folder: Path) -> None:
    write(folder, "README.servers", BRIDGE)
    write(folder, "bridge.1", BRIDGE * 100)
    write(folder, "script.js", "// " + BRIDGE)
    write(folder, "bundle.map", '{"text": "' + BRIDGE + '"}')
    write(folder, "page.tmpl", "<html>" + BRIDGE)
    write(folder, "blob.bin2", b"\x00\x01" + BRIDGE.encode())
    source = LocalDocuments([folder])

    assert {*file_names(await source.search("bridge", limit=9))} == {"README.servers", "bridge.1"}
    assert {*reasons(source)} == {"script.js", "bundle.map", "page.tmpl", "blob.bin2"}
    validate_paths([folder / "README.servers"])


async def test_no_documents_given_turns_the_source_off() -> None:
    assert await LocalDocuments([]).check() == "no documents given"


async def test_an_empty_folder_turns_the_source_off_and_finds_nothing(folder: Path) -> None:
    source = LocalDocuments([folder])

    assert await source.check() == f"no readable document in {folder}"
    assert await source.search("bridge", limit=3) == []


async def test_a_folder_with_a_document_turns_the_source_on(folder: Path) -> None:
    write(folder, "deep/er/bridge.md", BRIDGE)

    assert await LocalDocuments([folder]).check() is None


async def test_hidden_files_and_folders_are_passed_over(folder: Path) -> None:
    write(folder, ".secret.md", BRIDGE)
    write(folder, ".git/notes.md", BRIDGE)
    source = LocalDocuments([folder])

    assert await source.search("bridge", limit=3) == []
    assert source.left_out == []


async def test_links_out_of_the_folder_are_not_followed_and_named(folder: Path, tmp_path: Path) -> None:
    outside = write(tmp_path / "private", "salary.md", "The salary is secret.")
    (folder / "link.md").symlink_to(outside)
    (folder / "linked").symlink_to(outside.parent, target_is_directory=True)
    source = LocalDocuments([folder])

    assert await source.search("salary", limit=3) == []
    assert reasons(source) == {"link.md": "a link out of the folder", "linked": "a link out of the folder"}


async def test_what_is_left_out_of_a_folder_that_a_link_leads_to_is_named_by_its_path(
    folder: Path, tmp_path: Path
) -> None:
    write(folder, "old/tune.mp3", b"ID3")
    write(folder, "new/empty.txt", " \n")
    link = tmp_path / "linked"
    link.symlink_to(folder)
    source = LocalDocuments([link])

    await source.read_all()

    assert [line.partition(" (")[0] for line in source.left_out_lines()] == ["old/tune.mp3", "new/empty.txt"]


async def test_links_within_the_folder_add_no_second_copy(folder: Path) -> None:
    (folder / "again.md").symlink_to(write(folder, "bridge.md", BRIDGE))

    assert file_names(await LocalDocuments([folder]).search("bridge", limit=3)) == ["bridge.md"]


async def test_files_that_cannot_be_used_are_named_and_the_others_found(folder: Path) -> None:
    write(folder, "bridge.md", BRIDGE)
    write(folder, "empty.txt", " \n")
    write(folder, "picture.txt", b"\x89PNG\x00\x00\x00\r\n\x1a\n\x00\x00\x00")
    write(folder, "sheet.xlsx", b"PK\x03\x04")
    with write(folder, "huge.txt", "x").open("r+b") as file:
        file.truncate(51_000_000)
    source = LocalDocuments([folder])

    assert file_names(await source.search("bridge", limit=3)) == ["bridge.md"]
    left = reasons(source)
    assert set(left) == {"empty.txt", "picture.txt", "sheet.xlsx", "huge.txt"}
    assert left["empty.txt"] == "no text in it"
    assert left["huge.txt"] == "51 MB, over 50 MB"
    assert "binary" in left["picture.txt"]
    assert "no known kind" in left["sheet.xlsx"]


def test_no_more_files_are_taken_than_the_limit(folder: Path) -> None:
    for number in range(5):
        write(folder, f"{number}.md", BRIDGE)

    files, left_out = list_files([folder], most=3)

    assert [file.path.name for file in files] == ["0.md", "1.md", "2.md"]
    assert [left.reason for left in left_out] == ["over 3 files: give fewer folders"]


# -- reading


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "shift_jis", "euc_jp", "iso2022_jp"])
def test_japanese_is_read_in_each_encoding_it_comes_in(encoding: str) -> None:
    text = f"橋について\n{JAPANESE_BRIDGE}"

    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_accented_text_is_read_in_each_encoding_it_comes_in(encoding: str) -> None:
    text = "The café on the old bridge closes at nine; the naïve visitor comes later."

    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "text",
    [
        "Site,Rent\nCannon Street,£48,300\n",
        "It\u2019s the tram\u2019s length \u2013 32.4 m \u2013 that counts.",
        "20 °C ± 2, 3 × 4 m², §5",
        "Die Straße wurde schön und größer.",
        "Ticket, € a day",
        "çalma listesi",
        "Šifrirana poruka",
    ],
)
def test_signs_of_a_western_file_as_spreadsheets_save_it_are_not_read_as_japanese(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("年,月,日\n5,3,1\n", "cp932"),
        ("路線,4月,5月\n港線,987,1012\n", "cp932"),
        ("路線,4月,5月\n港線,987,1012\n", "euc_jp"),
        ("ｶｲｼｬ,ｷﾝｶﾞｸ\nA,5\n", "cp932"),
        ("東京のX社とY社は10月に合併した。", "euc_jp"),
    ],
)
def test_a_few_japanese_characters_among_letters_and_figures_are_japanese(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
def test_bytes_that_only_begin_like_text_are_refused(mark: bytes) -> None:
    with pytest.raises(Unreadable, match="binary"):
        decode(mark + b"\x00\x00\x01\x00" * 50)


def test_a_file_that_is_gone_before_it_is_read_says_why_it_has_no_passages(tmp_path: Path) -> None:
    document = index_file(LocalFile(tmp_path / "gone.md", modified_ns=0, size=1), default_embedder())

    assert (document.pieces, document.note) == ([], "cannot be opened: No such file or directory")


def test_a_long_text_takes_little_more_memory_to_be_told_than_it_has() -> None:
    content = ("The bridge hums. " * 60_000 + "Café").encode("cp1252")

    tracemalloc.start()
    try:
        text = decode(content)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert text.endswith("Café")
    assert most < 10 * len(content)


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\x01\x02\x03",
        b"\xff\xfeA",
        bytes(range(128, 256)) * 4,
        b"\x1b$B\xff",
        "Мост гудит на ветру.".encode("cp1251"),
        "Η γέφυρα βουίζει στον άνεμο.".encode("cp1253"),
    ],
)
def test_bytes_that_are_no_text_in_a_known_encoding_are_refused(content: bytes) -> None:
    with pytest.raises(Unreadable):
        decode(content)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_and_never_crash(content: bytes) -> None:
    with suppress(Unreadable):
        assert isinstance(decode(content), str)


@pytest.mark.parametrize(
    ("name", "content", "title"),
    [
        ("a.md", "---\ntitle: Front\n---\nwords\n\n# The *real* title #\n", "The *real* title"),
        ("a.md", "---\ntitle: 'Front'\n---\nwords", "Front"),
        ("a.md", "```\n# no title\n```\nwords", "a.md"),
        ("a.md", "**A note**\n\nwords", "A note"),
        ("a.md", "- an item\n\nwords", "a.md"),
        ("a.txt", "\n  First line  \n\nwords", "First line"),
        ("a.txt", "## First line\n====\nwords", "First line"),
        ("a.txt", "NORTHERN NETWORKS plc\nPO Box 40\n\nDear Sir,", "NORTHERN NETWORKS plc (a.txt)"),
        ("手紙.txt", "北星車両株式会社\n北海道苫小牧市\n\n拝啓", "北星車両株式会社 (手紙.txt)"),
        ("a.txt", "Dear all,\n\nwe met.", "a.txt"),
        ("a.txt", "We met on Tuesday.\n\nIt rained.", "a.txt"),
        ("a.txt", "long " * 40, "a.txt"),
        (
            "a.csv",
            "# Survey, June 2025. 231 forms were sent out.\nform,role\n1,driver\n",
            "Survey, June 2025.",
        ),
        (
            "a.csv",
            f"# Survey, June 2025. {'231 forms were sent out, ' * 6}\nform,role\n1,driver\n",
            "Survey, June 2025.",
        ),
        ("表.csv", f"# 調査、2025年6月。{'231通を送り、' * 20}\n番号,役割\n1,運転士\n", "調査、2025年6月。"),
        ("a.csv", "form,role\n1,driver\n", "a.csv"),
        ("a.txt", "From: A. Rask\nTo: B. Quayle\nSubject: Depth at\n the pier\n\nDear Mr Quayle,", "Depth at the pier"),
        ("a.md", "From: 青木\nDate: 2026-07-16\nSubject: 橋の風\n\n本文", "橋の風"),
        ("a.txt", "Subject: bridges\nWords of it.", "Subject: bridges (a.txt)"),
        ("a.html", "<title>From the\n head</title><h1>Other</h1><p>words", "From the head"),
        ("a.HTM", "<h1>From the heading</h1><p>words", "From the heading"),
        ("a.html", "<p>words", "a.html"),
    ],
)
def test_a_title_comes_from_where_each_kind_has_it(folder: Path, name: str, content: str, title: str) -> None:
    assert read_document(write(folder, name, content)).title == title


async def test_two_documents_of_one_title_are_told_apart_by_their_files(folder: Path) -> None:
    write(folder, "spec-v5.md", f"# Specification\n\n{BRIDGE}")
    write(folder, "spec-v6.md", f"# Specification\n\n{BRIDGE} It was built anew.")
    write(folder, "other.md", f"# Of tea\n\n{TEA}")
    source = LocalDocuments([folder])

    titles = {"Specification (spec-v5.md)", "Specification (spec-v6.md)", "Of tea"}
    assert {entry.title for entry in await source.catalogue()} == titles
    assert {hit.result.title for hit in await source.whole(10_000)} == titles
    assert {hit.result.title for hit in await source.search("bridge", limit=2)} == titles - {"Of tea"}


def test_front_matter_is_no_text_and_a_rule_is_no_front_matter(folder: Path) -> None:
    assert read_document(write(folder, "a.md", "---\ntags: [x]\n---\nwords")).text == "words"
    assert read_document(write(folder, "b.md", "---\nwords")).text == "---\nwords"


def test_a_page_is_read_without_scripts_styles_and_navigation() -> None:
    page = html_to_markdown(
        "<html><head><title>T</title><style>p{}</style><script>var a='<p>no</p>'</script></head><body>"
        "<nav><a>Home</a></nav><h2>Wind &amp; bridges</h2><p>They <b>hum</b>.<br>Often.</p>"
        "<ul><li><p>one</p><li>two</ul>"
        "<table><tr><td>a</td><td>b</td></tr></table><pre>x = 1\n  y</pre><footer>Imprint</footer></body></html>"
    )

    assert page.title == "T"
    assert page.text.split("\n\n") == [
        "## Wind & bridges",
        "They hum. Often.",
        "- one",
        "- two",
        "a | b",
        "```\nx = 1\n  y\n```",
    ]


def test_a_page_that_is_all_navigation_is_read_all_the_same() -> None:
    assert html_to_markdown("<nav><p>Only here</p></nav>").text == "Only here"


@given(st.text("<>/ abcp!-=\"'&;#1navscriptli\n", max_size=200))
def test_any_markup_is_read_without_a_crash(markup: str) -> None:
    assert isinstance(html_to_markdown(markup).text, str)


# -- splitting

BLOCKS = st.lists(
    st.sampled_from(
        [BRIDGE, TEA, JAPANESE_TEA, "- item", "| a | b |", "```\ncode. Here\n\nmore\n```", "word " * 300, ""]
    )
)


@given(
    st.one_of(st.text(st.characters(exclude_characters="#-*_=", exclude_categories=["Cs"])), BLOCKS.map("\n\n".join))
)
def test_splitting_into_passages_loses_nothing_but_white_space(text: str) -> None:
    pieces = "".join(piece.text for piece in split_passages(text))

    assert "".join(pieces.split()) == "".join(text.split())


@given(BLOCKS)
def test_passages_are_cut_between_sentences_only(blocks: list[str]) -> None:
    text = "\n\n".join(blocks)

    whole = [sentence for piece in split_passages(text) for sentence in split_sentences(piece.text)]

    assert whole == split_sentences(text)


def test_passages_are_about_as_long_as_said() -> None:
    english = [len(piece.text) for piece in split_passages((BRIDGE + " ") * 200)]
    japanese = [len(piece.text) for piece in split_passages(JAPANESE_BRIDGE * 200)]

    assert 500 <= min(english[:-1]) <= max(english) <= 840
    assert 250 <= min(japanese[:-1]) <= max(japanese) <= 420


def test_a_passage_knows_its_headings_and_does_not_quote_them() -> None:
    pieces = split_passages("# Bridges\n\nIntro.\n\n## Wind\n\nThey hum.\n\n## Rain\n\nThey rust.")

    assert [piece[:2] for piece in pieces] == [
        ("Bridges", "Intro."),
        ("Bridges › Wind", "They hum."),
        ("Bridges › Rain", "They rust."),
    ]


def test_a_code_block_stays_in_one_passage() -> None:
    code = "```\n" + "\n\n".join(f"line {number}. Next" for number in range(60)) + "\n```"

    assert code in [piece.text for piece in split_passages(f"{BRIDGE}\n\n{code}\n\n{TEA}")]


def test_text_without_any_sentence_end_is_cut_all_the_same() -> None:
    assert max(len(piece.text) for piece in split_passages("x" * 100_000)) <= 2_800


def test_headings_alone_are_a_passage() -> None:
    assert [piece.text for piece in split_passages("# Bridges\n## Wind")] == ["# Bridges\n## Wind"]


# -- searching


async def test_a_question_finds_the_passage_that_answers_it(folder: Path) -> None:
    write(folder, "bridge.md", f"# Bridges\n\n{BRIDGE}")
    write(folder, "tea.txt", f"On tea\n{TEA}")

    best, *_ = await LocalDocuments([folder]).search("Why did the bridge hum in the wind?", limit=3)

    assert best.text == BRIDGE
    assert best.result.title == "Bridges"
    assert best.result.source == "local"
    assert best.result.url == (folder / "bridge.md").as_uri()
    assert best.result.relevance_score == 1.0


async def test_a_japanese_question_finds_text_in_shift_jis(folder: Path) -> None:
    write(folder, "橋.txt", f"橋について\n{JAPANESE_BRIDGE}".encode("shift_jis"))
    write(folder, "茶.html", f"<title>お茶</title><p>{JAPANESE_TEA}")

    source = LocalDocuments([folder])

    assert file_names(await source.search("なぜ橋は風で鳴るのですか", limit=1)) == ["橋.txt"]
    assert file_names(await source.search("紅茶の作り方", limit=1)) == ["茶.html"]


async def test_a_heading_is_searched_with_its_passage(folder: Path) -> None:
    write(folder, "a.md", "# Handbook\n\n## Zeppelins\n\nThey fly slowly.\n\n## Trams\n\nThey ring often.")

    results = await LocalDocuments([folder]).search("zeppelins", limit=1)

    assert [each.text for each in results] == ["They fly slowly."]


async def test_the_summary_is_short_and_the_text_whole(folder: Path) -> None:
    write(folder, "a.md", f"{BRIDGE}\n\n" * 8)

    result = (await LocalDocuments([folder]).search("bridge", limit=1))[0]

    assert len(result.result.summary) <= 500
    assert len(result.text) > 500


async def test_no_more_results_come_than_asked_for(folder: Path) -> None:
    for number in range(9):
        write(folder, f"{number}.md", BRIDGE)

    assert len(await LocalDocuments([folder]).search("bridge", limit=4)) == 4


async def test_a_document_named_by_the_first_hit_is_found_too(folder: Path) -> None:
    write(folder, "film.md", "# The Glass Harbour\n\nThe Glass Harbour is a film directed by Mira Kolander.")
    write(folder, "director.md", "# Mira Kolander\n\nMira Kolander was born in Veltsund and studied law.")
    for number in range(12):
        write(folder, f"other{number}.md", f"# Film {number}\n\nA film about a harbour town where nobody was born.")

    results = await LocalDocuments([folder]).search("Where was the director of The Glass Harbour born?", limit=3)

    assert file_names(results)[:2] == ["film.md", "director.md"]


async def test_each_subject_of_a_query_that_semicolons_part_has_its_own_first_hit(folder: Path) -> None:
    for number in range(9):
        write(
            folder, f"bridge{number}.md", f"# Bridge {number}\n\nThe bridge hums in the wind, and its wind is steady."
        )
    write(folder, "tea.md", "# Tea\n\nBlack tea is left to oxidise.")
    write(folder, "橋.md", f"# 橋\n\n{JAPANESE_BRIDGE}")

    results = await LocalDocuments([folder]).search("bridge wind hums; tea；橋が鳴る", limit=4)

    assert {"tea.md", "橋.md"} <= set(file_names(results)[:3])
    assert len(results) == 4


def test_a_title_is_mentioned_as_whole_words_or_anywhere_in_japanese() -> None:
    titles = TitleMentions(["Humber Bridge (1981)", "Rain", "東京タワー", "The", "Twice", "Twice"])

    assert titles.in_text("昨年の東京タワーと the humber bridge.") == [2, 0]
    assert titles.in_text("Trains brained the twice.") == []


# -- the index


async def test_concurrent_first_searches_share_one_build(folder: Path) -> None:
    write(folder, "bridge.md", BRIDGE)
    embedder = Counting()
    source = LocalDocuments([folder], embedder=embedder)

    await asyncio.gather(*(source.search("bridge", limit=1) for _ in range(5)))

    assert sum(BRIDGE in text for text in embedder.texts) == 1


@pytest.mark.parametrize(
    ("files", "counts"), [(200, []), (230, [25, 50, 75, 100, 125, 150, 175, 200, 225, 230])], ids=["few", "many"]
)
async def test_the_reading_of_many_files_tells_how_far_it_is_in_steps_and_once(
    folder: Path, files: int, counts: list[int]
) -> None:
    for number in range(files):
        write(folder, f"{number}.txt", "Bridges hum.")
    source, steps = LocalDocuments([folder], embedder=Counting(), look_again_seconds=0), []

    for _ in range(2):
        await source.read_all(lambda read, of: steps.append((read, of)))

    assert steps == [(read, files) for read in counts]


async def test_reading_stops_when_nobody_waits_any_more_and_goes_on_from_there(folder: Path, tmp_path: Path) -> None:
    for number in range(3):
        write(folder, f"{number}.md", BRIDGE)
    embedder = HeldSource()
    source = LocalDocuments([folder], cache=tmp_path, embedder=embedder)
    search = asyncio.create_task(source.search("bridge", limit=1))
    await asyncio.to_thread(embedder.begun.wait)

    search.cancel()
    await asyncio.gather(search, return_exceptions=True)
    embedder.go_on.set()
    await asyncio.to_thread(source._worker.shutdown)

    assert embedder.texts == [f"0.md\n{BRIDGE}"]
    await LocalDocuments([folder], cache=tmp_path, embedder=embedder).read_all()
    assert embedder.texts == [f"{number}.md\n{BRIDGE}" for number in range(3)]


async def test_only_a_changed_file_is_read_again(folder: Path) -> None:
    bridge = write(folder, "bridge.md", BRIDGE)
    write(folder, "tea.md", TEA)
    embedder = Counting()
    source = LocalDocuments([folder], embedder=embedder, look_again_seconds=0)
    await source.search("bridge", limit=1)
    embedder.texts.clear()
    bridge.write_text("A footbridge sways under many steps.")
    os.utime(bridge, ns=(1, 1))

    results = await source.search("footbridge", limit=1)

    assert [each.text for each in results] == ["A footbridge sways under many steps."]
    assert [text for text in embedder.texts if text != "footbridge"] == [
        "bridge.md\nA footbridge sways under many steps.",
    ]


async def test_a_deleted_file_is_found_no_more(folder: Path) -> None:
    bridge = write(folder, "bridge.md", BRIDGE)
    source = LocalDocuments([folder], look_again_seconds=0)
    assert await source.search("bridge", limit=1)
    bridge.unlink()

    assert await source.search("bridge", limit=1) == []


async def test_a_kept_index_spares_the_next_process_the_reading(folder: Path, tmp_path: Path) -> None:
    write(folder, "bridge.md", f"# Bridges\n\n{BRIDGE}")
    first = await LocalDocuments([folder], cache=tmp_path / "index", embedder=Counting()).search("bridge", limit=1)
    embedder = Counting()

    again = await LocalDocuments([folder], cache=tmp_path / "index", embedder=embedder).search("bridge", limit=1)

    assert again == first
    assert embedder.texts == ["bridge"]


async def test_a_second_start_opens_one_file_for_a_folder_and_finds_the_same(folder: Path, tmp_path: Path) -> None:
    for number in range(5):
        write(
            folder,
            f"{number}.md",
            f"---\ndate: 2024-05-01\n---\n# Bridge {number}\n\n{BRIDGE}\n\n## 茶\n\n{JAPANESE_TEA}",
        )
    cache = tmp_path / "index"
    source = LocalDocuments([folder], cache=cache)
    queries = ("bridge 3 hum", "紅茶の作り方", "nothing shares these words")
    first = [await source.search(query, limit=9) for query in queries], await source.catalogue()
    again = LocalDocuments([folder], cache=cache)

    assert ([await again.search(query, limit=9) for query in queries], await again.catalogue()) == first
    assert len([*cache.iterdir()]) == 1


async def test_a_kept_index_is_made_once_also_where_a_file_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    write(folder, "bridge.md", f"# Bridges\n\n{BRIDGE}")
    (folder / "broken.pdf").write_bytes(b"no PDF")
    cache = tmp_path / "index"
    await LocalDocuments([folder], cache=cache, embedder=Counting()).read_all()
    made = {file: file.stat().st_ino for file in cache.iterdir()}

    await LocalDocuments([folder], cache=cache, embedder=Counting()).read_all()

    assert {file: file.stat().st_ino for file in cache.iterdir()} == made


async def test_an_index_that_is_used_outlives_newer_ones_of_other_folders(folder: Path, tmp_path: Path) -> None:
    write(folder, "bridge.md", f"# Bridges\n\n{BRIDGE}")
    cache = tmp_path / "index"
    embedder = Counting()
    for number in range(12):
        other = write(tmp_path / f"other-{number}", "tea.md", f"# Tea {number}\n\n{TEA}")
        await LocalDocuments([other], cache=cache, embedder=Counting()).read_all()
        await LocalDocuments([folder], cache=cache, embedder=embedder).read_all()

    assert sum("Bridges" in text for text in embedder.texts) == 1


async def test_documents_are_searched_where_their_index_cannot_be_kept(folder: Path, tmp_path: Path) -> None:
    write(folder, "bridge.md", BRIDGE)
    no_folder = write(tmp_path, "no-folder", "")

    assert await LocalDocuments([folder], cache=no_folder).search("bridge", limit=1)
    assert no_folder.read_text("utf-8") == ""


async def test_a_kept_index_spares_another_folder_the_files_that_both_have(folder: Path, tmp_path: Path) -> None:
    bridge = write(folder, "bridge.md", f"# Bridges\n\n{BRIDGE}")
    await LocalDocuments([folder], cache=tmp_path / "index", embedder=Counting()).read_all()
    write(folder, "tea.md", f"# Tea\n\n{TEA}")
    embedder = Counting()

    await LocalDocuments([bridge, folder], cache=tmp_path / "index", embedder=embedder).read_all()

    assert not [text for text in embedder.texts if "Bridges" in text]


async def test_a_file_that_could_not_be_read_is_tried_again_at_the_next_start(folder: Path, tmp_path: Path) -> None:
    write(folder, "bridge.md", BRIDGE)
    tea = write(folder, "tea.md", TEA)
    os.utime(tea, ns=(5, 5))
    tea.write_bytes(b"\x00" * len(TEA))
    os.utime(tea, ns=(5, 5))
    cache = tmp_path / "index"
    first = LocalDocuments([folder], cache=cache)
    await first.search("tea", limit=5)
    tea.write_text(TEA, "utf-8")
    os.utime(tea, ns=(5, 5))

    results = await LocalDocuments([folder], cache=cache).search("black tea", limit=5)

    assert "tea.md" in reasons(first)
    assert file_names(results)[0] == "tea.md"


async def test_a_damaged_kept_index_is_made_again(folder: Path, tmp_path: Path) -> None:
    write(folder, "bridge.md", BRIDGE)
    cache = tmp_path / "index"
    await LocalDocuments([folder], cache=cache).search("bridge", limit=1)
    for file in cache.iterdir():
        file.write_bytes(file.read_bytes()[:100])

    assert await LocalDocuments([folder], cache=cache).search("bridge", limit=1)


async def test_a_passage_tells_under_which_heading_it_stands_and_titles_lose_their_anchors(tmp_path: Path) -> None:
    text = "# Bridges {#bridges}\n\nOld ones.\n\n## Wind {: #wind .long}\n\nWind makes a footbridge hum.\n"
    (tmp_path / "bridges.md").write_text(text, "utf-8")

    result = (await LocalDocuments([tmp_path]).search("footbridge hum", limit=1))[0]

    assert (result.result.title, result.heading) == ("Bridges", "Wind")


async def test_the_comments_of_a_file_of_settings_are_text_and_no_headings(folder: Path) -> None:
    comments = "\n#\n".join(f"# Comment {number} says what setting {number} does to the pump." for number in range(30))
    write(folder, "pump.conf", f"# Settings of the pump\n#\n{comments}\nPUMP on\nVALVE off\n")
    write(folder, "notes.txt", "# Notes\n\nThe pump is old.\n\n# More\n\nIts valve is new.\n")
    source = LocalDocuments([folder])

    found = await source.search("Comment 17 setting 17 pump", limit=3)
    (notes,) = [each for each in await source.catalogue() if each.url.endswith("notes.txt")]

    assert any("#Comment 17 says what setting 17 does to the pump." in each.text for each in found)
    assert notes.sections == 2
