"""Pages and papers as text: their encodings and kinds, what is left of a page, and that each is read once."""

import asyncio
import sys
from collections.abc import Iterator
from ipaddress import ip_network
from itertools import pairwise, product

import pytest

from contend.errors import SourceError
from contend.sources.arxiv import ArxivSource
from contend.sources.source_set import FullText, FullTexts
from fakes.files import make_pdf, make_pdf_bomb
from fakes.replay import Answer, HttpRequest, Replay

ENGLISH = "The bridge at Tacoma hummed at 0.2 hertz before it fell in November 1940."
JAPANESE = "長い橋は一定の風の中で渦を規則正しく放ち、その周期が橋の固有振動数に近づくと大きく揺れて鳴り始めます。"
AROUND = "<nav>Home Products Contact</nav><div class='cookie-banner'>Accept all cookies</div>"


def as_page(text: str, *, around: str = "") -> str:
    body = "".join(f"<p>{text} This is sentence {number} of the page.</p>" for number in range(6))
    return f"<html><head><title>Hum</title></head><body>{around}<article><h1>Hum</h1>{body}</article></body></html>"


@pytest.fixture
def web() -> Iterator[Replay]:
    with Replay(lambda _: html(as_page(ENGLISH).encode())) as server:
        yield server


def html(body: bytes, charset: str = "") -> Answer:
    return Answer(body, headers={"Content-Type": f"text/html; charset={charset}" if charset else "text/html"})


def texts(arxiv_url: str | None = None, *, interval: float = 0.0, deadline: float = 100.0) -> FullTexts:
    arxiv = ArxivSource(arxiv_url, interval_seconds=interval)
    return FullTexts(arxiv, allowed_networks=[ip_network("127.0.0.1/32")], deadline_seconds=deadline)


def whole(text: FullText) -> str:
    return "\n".join(piece.text for piece in text.pieces)


async def test_a_page_is_split_and_searched_by_question(web: Replay) -> None:
    filler = "".join(
        f"<p>Paragraph {number} tells of other things, such as stones and trees.</p>" for number in range(80)
    )
    web.answer = lambda _: html(f"<article><h1>Hum</h1>{filler}<p>{ENGLISH}</p>{filler}</article>".encode())

    page = await texts().read(f"{web.url}/hum")

    assert len(page.pieces) > 5
    assert ENGLISH in page.nearest("At how many hertz did Tacoma hum?", 1)[0].text


@pytest.mark.parametrize("bridge", ["Tacoma", "Rialto", "瀬戸大橋"])
def test_a_passage_is_found_by_its_heading_too(bridge: str) -> None:
    said = {"Tacoma": "It hummed in the wind.", "Rialto": "It stands on poles.", "瀬戸大橋": "鉄道と道路が通ります。"}
    page = FullText.of("".join(f"# {name}\n\n{text}\n\n" for name, text in said.items()))

    assert [piece[:2] for piece in page.nearest(bridge, 1)] == [(bridge, said[bridge])]


def test_a_pages_number_is_not_what_a_passage_is_found_by() -> None:
    page = FullText.of("## p. 2\n\nStones and trees.\n\n## p. 3\n\nIn the bay of that town there are 2 towers.")

    (piece,) = page.nearest("2", 1)
    assert piece[:2] == ("p. 3", "In the bay of that town there are 2 towers.")


@pytest.mark.parametrize("encoding", ["utf-8", "shift_jis", "euc_jp", "iso2022_jp", "utf-16"])
@pytest.mark.parametrize("declared", ["", "utf-8", "iso-8859-1", "shift_jis", "euc-jp", "no-such-charset", "hex"])
async def test_a_japanese_page_is_read_whatever_it_is_declared_to_be(web: Replay, encoding: str, declared: str) -> None:
    web.answer = lambda _: html(as_page(JAPANESE).encode(encoding), declared)

    assert JAPANESE in whole(await texts().read(web.url))


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gb18030", "长桥在稳定的风中会发出嗡嗡声，因为涡流以固定的频率脱落。"),
        ("big5", "長橋在穩定的風中會發出嗡嗡聲，因為渦流以固定的頻率脫落。"),
        ("euc-kr", "긴 다리는 일정한 바람 속에서 소용돌이를 규칙적으로 내보냅니다."),
        ("windows-1251", "Длинный мост гудит на ветру, потому что вихри срываются с постоянной частотой."),
        ("iso-8859-1", "Le résumé décrit l'été où le pont a chanté à Tacoma, près de l'île."),
    ],
)
@pytest.mark.parametrize("by", ["server", '<meta charset="{}">', "<META http-equiv='x' CHARSET = {}>"])
async def test_an_encoding_that_the_bytes_do_not_tell_is_believed(
    web: Replay, encoding: str, text: str, by: str
) -> None:
    page = as_page(text)
    if by != "server":
        page = page.replace("<head>", f"<head>{by.format(encoding)}")
    web.answer = lambda _: html(page.encode(encoding), encoding if by == "server" else "")

    assert text in whole(await texts().read(web.url))


async def test_binary_that_calls_itself_a_page_is_refused(web: Replay) -> None:
    web.answer = lambda _: html(bytes(range(128, 256)) * 40)

    with pytest.raises(SourceError, match="not text in UTF-8"):
        await texts().read(web.url)


async def test_what_surrounds_a_pages_text_is_left_out(web: Replay) -> None:
    web.answer = lambda _: html(as_page(f"{ENGLISH} It was <b>loud</b>.", around=AROUND).encode())

    text = whole(await texts().read(web.url))

    assert f"{ENGLISH} It was loud." in text
    assert "cookies" not in text
    assert "Products" not in text


async def test_signs_in_a_pages_text_stay_as_they_are_and_its_emphasis_goes(web: Replay) -> None:
    summary = "<p>Set <i>the</i> key max_rounds_[2] to 3*4, not to &lt;none&gt;, and <b>save</b> it.</p>"
    code = "<pre><code>def hum(**winds):\n    return a_b ** 2</code></pre><p># is a sign. It begins a line.</p>"
    web.answer = lambda _: html(as_page(ENGLISH).replace("</article>", f"{summary}{code}</article>").encode())

    text = whole(await texts().read(web.url))

    assert "Set the key max_rounds_[2] to 3*4, not to <none>, and save it." in text
    assert "def hum(**winds):\n    return a_b ** 2" in text
    assert "is a sign. It begins a line." in text


async def test_without_the_extra_a_page_is_read_as_a_local_file_is(
    web: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    web.answer = lambda _: html(as_page(ENGLISH, around=AROUND).encode())

    text = whole(await texts().read(web.url))

    assert ENGLISH in text
    assert "Accept all cookies" in text
    assert "Products" not in text


@pytest.mark.parametrize("extra", [True, False])
async def test_a_page_of_nothing_but_a_script_is_refused(
    web: Replay, monkeypatch: pytest.MonkeyPatch, *, extra: bool
) -> None:
    if not extra:
        monkeypatch.setitem(sys.modules, "trafilatura", None)
    web.answer = lambda _: html(b"<html><body><script>start()</script></body></html>")

    with pytest.raises(SourceError, match="no text in it"):
        await texts().read(web.url)


async def test_an_encoding_that_a_pages_text_names_is_no_declaration(web: Replay) -> None:
    text = "Le résumé décrit l'été où le pont a chanté à Tacoma."
    page = as_page(f"{text} {'It hums. ' * 600}").replace("</p>", '<b title="<meta charset=koi8-r>"></b></p>')
    web.answer = lambda _: html(page.encode("cp1252"))

    assert text in whole(await texts().read(web.url))


async def test_a_very_large_page_is_read_too(web: Replay) -> None:
    filler = "<p>Stones and trees stand along the road to the bridge.</p>" * 60_000
    web.answer = lambda _: html(f"<nav>Menu</nav><p>{ENGLISH}</p>{filler}".encode())

    page = await texts().read(web.url)

    assert ENGLISH in page.pieces[0].text
    assert page.characters <= 200_000


@pytest.mark.parametrize("tag", ["<a ", "<a title='", "<!--", "<![CDATA["])
async def test_tags_that_never_close_do_not_keep_a_reader_busy(web: Replay, tag: str) -> None:
    """Reading them would mean to look for the end of each to the end of the page: no sign of them is in the text."""
    web.answer = lambda _: html(f"<p>{ENGLISH}</p>{tag * 100_000}".encode())

    assert whole(await texts().read(web.url)) == ENGLISH


async def test_invisible_and_control_characters_are_cleaned_away(web: Replay) -> None:
    web.answer = lambda _: Answer("Wind\u200b ma\u202ekes\x07 hum.".encode(), headers={"Content-Type": "text/plain"})

    assert whole(await texts().read(web.url)) == "Wind makes hum."


async def test_a_pdf_is_read_page_by_page(web: Replay) -> None:
    pdf = make_pdf([["Wind makes bridges hum."], [ENGLISH]])
    web.answer = lambda _: Answer(pdf, headers={"Content-Type": "application/pdf"})

    text = await texts().read(f"{web.url}/hum.pdf")

    assert [piece.text for piece in text.nearest("At how many hertz did Tacoma hum?", 1)] == [ENGLISH]
    assert [piece.heading for piece in text.pieces] == ["p. 1", "p. 2"]


async def test_a_long_pdf_is_read_for_200_pages(web: Replay) -> None:
    names = ["".join(letters) for letters in product("abcdef", repeat=3)]
    pdf = make_pdf([[f"The bridge of {name} hums in the wind."] for name in names])
    web.answer = lambda _: Answer(pdf, headers={"Content-Type": "application/pdf"})

    text = whole(await texts().read(web.url))

    assert [name for name in names if name in text] == names[:200]


async def test_a_broken_pdf_is_refused(web: Replay) -> None:
    web.answer = lambda _: Answer(b"%PDF-1.7 and no more", headers={"Content-Type": "application/pdf"})

    with pytest.raises(SourceError, match="broken, or no PDF"):
        await texts().read(web.url)


async def test_a_pdf_that_unpacks_to_gigabytes_is_refused_and_other_pages_are_read_meanwhile(web: Replay) -> None:
    bomb, pdf = make_pdf_bomb(times=3_000_000), make_pdf([[ENGLISH]])
    web.answer = lambda asked: Answer(
        bomb if asked.path == "/bomb.pdf" else pdf, headers={"Content-Type": "application/pdf"}
    )
    reading = texts()

    refused, *others = await asyncio.gather(
        *(reading.read(f"{web.url}/{name}.pdf") for name in ("bomb", "wind", "rain")), return_exceptions=True
    )

    assert isinstance(refused, SourceError)
    assert [whole(text) for text in others if isinstance(text, FullText)] == [ENGLISH] * 2


# Once for all


async def test_a_page_is_read_once_for_all_who_ask_under_any_of_its_addresses(web: Replay) -> None:
    reader = texts()

    pages = await asyncio.gather(*(reader.read(f"{web.url}/hum{tail}") for tail in ("", "/", "#a", "?utm_source=x")))
    pages.append(await reader.read(f"{web.url}/hum"))

    assert all(page is pages[0] for page in pages)
    assert len(web.requests) == 1


async def test_pages_that_differ_by_a_query_without_a_value_are_each_read(web: Replay) -> None:
    reader = texts()

    for query in ("?wind", "?rain"):
        await reader.read(f"{web.url}/hum{query}")

    assert len(web.requests) == 2


async def test_several_pages_are_kept_at_the_same_time(web: Replay) -> None:
    reader = texts()

    for path in ("/one", "/two", "/one", "/two"):
        await reader.read(f"{web.url}{path}")

    assert [request.path for request in web.requests] == ["/one", "/two"]


async def test_a_page_that_failed_is_not_asked_for_again(web: Replay) -> None:
    web.answer = lambda _: Answer(status=403)
    reader = texts()

    for _ in range(2):
        with pytest.raises(SourceError, match="HTTP 403"):
            await reader.read(web.url)

    assert len(web.requests) == 1


async def test_a_document_that_takes_too_long_is_left(web: Replay) -> None:
    web.answer = lambda _: Answer(hang=True)

    with pytest.raises(SourceError, match=r"not read within 0\.3 s"):
        await texts(deadline=0.3).read(web.url)


# Papers


def paper_or_feed(request: HttpRequest) -> Answer:
    if request.path.startswith("/pdf/"):
        return Answer(make_pdf([[ENGLISH]]), headers={"Content-Type": "application/pdf"})
    return Answer(b'<feed xmlns="http://www.w3.org/2005/Atom"></feed>\n')


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://arxiv.org/abs/2001.00001v2", "/pdf/2001.00001v2"),
        ("http://www.arxiv.org/pdf/2001.00001.pdf", "/pdf/2001.00001"),
        ("https://export.arxiv.org/abs/hep-th/9901001v1", "/pdf/hep-th/9901001v1"),
    ],
)
async def test_a_paper_is_read_from_its_pdf_at_the_address_for_programs(web: Replay, url: str, path: str) -> None:
    web.answer = paper_or_feed

    assert whole(await texts(web.url).read(url)) == ENGLISH
    assert [request.path for request in web.requests] == [path]


async def test_papers_and_searches_stand_in_one_line_with_the_interval_between(web: Replay) -> None:
    web.answer = paper_or_feed
    reader, source = texts(web.url, interval=0.2), ArxivSource(web.url, interval_seconds=0.2)

    await asyncio.gather(
        source.search("humming bridges", limit=3),
        *(reader.read(f"https://arxiv.org/abs/2001.0000{number}") for number in range(3)),
    )

    begun = [request.at for request in web.requests]
    assert len(begun) == 4
    assert web.most_at_once == 1
    assert min(after - before for before, after in pairwise(begun)) >= 0.19


async def test_a_paper_that_is_not_there_leaves_the_searches_alone(web: Replay) -> None:
    web.answer = lambda asked: (
        Answer(status=503, seconds=0.1) if asked.path.startswith("/pdf/") else paper_or_feed(asked)
    )
    source = ArxivSource(web.url, interval_seconds=0.0)

    page, results = await asyncio.gather(
        texts(web.url).read("https://arxiv.org/abs/2001.00001"),
        source.search("humming bridges", limit=3),
        return_exceptions=True,
    )

    assert str(page) == "HTTP 503"
    assert results == []
