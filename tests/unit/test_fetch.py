"""Pages as the web sends them: where they are asked for, and how much and how long is waited for."""

import asyncio
import datetime as dt
import gzip
import socket
import ssl
import tracemalloc
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_network
from pathlib import Path
from threading import Barrier, Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from contend.sources.fetch import FetchedPage, Fetcher, Guard, Resolve, resolve
from contend.sources.readers.document import Unreadable
from fakes.replay import Answer, HttpRequest, Replay

HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGE = Answer(b"<p>Wind makes bridges hum.</p>", headers=HTML)
LOOPBACK = ip_network("127.0.0.1/32")


@pytest.fixture
def web() -> Iterator[Replay]:
    with Replay(lambda _: PAGE) as server:
        yield server


def fetcher(*, deadline: float = 60.0, resolve: Resolve = resolve) -> Fetcher:
    """One that may read from this machine's 127.0.0.1, and from no other inner address."""
    return Fetcher(Guard([LOOPBACK, ip_network("::1/128")], resolve=resolve), deadline_seconds=deadline)


def leading_to(*addresses: str) -> tuple[Resolve, list[str]]:
    """A resolver that answers every host with these addresses, and what it was asked."""
    hosts: list[str] = []

    async def lookup(host: str, _port: int) -> list[str]:
        hosts.append(host)
        return list(addresses)

    return lookup, hosts


async def refusal(reader: Fetcher, url: str) -> str:
    with pytest.raises(Unreadable) as excinfo:
        await reader.get(url)
    assert "\n" not in str(excinfo.value)
    return str(excinfo.value)


async def test_a_page_comes_as_it_was_sent_with_its_kind_and_charset(web: Replay) -> None:
    assert await fetcher().get(f"{web.url}/hum?a=1#part") == FetchedPage("html", PAGE.body, "utf-8")
    assert (web.requests[0].path, web.requests[0].query) == ("/hum", {"a": "1"})


async def test_a_reader_says_who_it_is_and_what_it_can_read(web: Replay) -> None:
    await fetcher().get(web.url)

    headers = web.requests[0].headers
    assert headers["user-agent"].startswith("contend/")
    assert headers["accept-encoding"] == "gzip"
    assert headers["accept"].startswith("text/html, ")


# Where


async def test_the_host_is_looked_up_once_and_the_checked_address_is_connected_to(web: Replay) -> None:
    lookup, looked_up = leading_to("127.0.0.1")
    port = web.url.rpartition(":")[2]

    page = await fetcher(resolve=lookup).get(f"http://wiki.example.org:{port}/hum")

    assert page.body == PAGE.body
    assert looked_up == ["wiki.example.org"]
    assert web.requests[0].headers["host"] == f"wiki.example.org:{port}"


@pytest.mark.parametrize("addresses", [("::1", "127.0.0.1"), ("127.0.0.1", "::1")])
async def test_a_further_address_is_tried_where_nobody_answers_at_the_first(
    web: Replay, addresses: tuple[str, str]
) -> None:
    lookup, _ = leading_to(*addresses)
    port = web.url.rpartition(":")[2]

    assert (await fetcher(resolve=lookup).get(f"http://two.example:{port}/")).body == PAGE.body


async def test_no_connection_is_opened_to_an_address_that_is_refused(web: Replay) -> None:
    with pytest.raises(Unreadable, match="not public"):
        await Fetcher(Guard()).get(web.url)

    assert web.requests == []


async def test_no_proxy_stands_between(web: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert (await fetcher().get(web.url)).body == PAGE.body


async def test_a_redirect_is_followed_from_the_pages_own_address(web: Replay) -> None:
    web.answer = lambda request: PAGE if request.path == "/new/hum" else Answer(status=301, headers={"Location": "hum"})

    assert (await fetcher().get(f"{web.url}/new/old")).body == PAGE.body


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("http://127.0.0.2/secret", "127.0.0.2 is not public"),
        ("http://2130706434/secret", "odd spelling"),
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is not public"),
        ("http://[64:ff9b::a9fe:a9fe]/", "is not public"),
        ("file:///etc/passwd", "file: only http and https"),
        ("//10.0.0.1/", "10.0.0.1 is not public"),
        ("http://0177.0.0.1/", "no web address"),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_leads_nowhere_that_a_page_may_not_be(
    web: Replay, target: str, reason: str, status: int
) -> None:
    web.answer = lambda _: Answer(status=status, headers={"Location": target})

    assert reason in await refusal(fetcher(), web.url)


async def test_each_redirects_host_is_looked_up_and_checked_anew(web: Replay) -> None:
    port = web.url.rpartition(":")[2]
    web.answer = lambda _: Answer(status=302, headers={"Location": f"http://turned.example:{port}/"})
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])

    async def lookup(_host: str, _port: int) -> list[str]:
        return next(answers)

    assert "10.0.0.1 is not public" in await refusal(fetcher(resolve=lookup), f"http://turned.example:{port}/")
    assert len(web.requests) == 1


async def test_a_redirect_loop_ends(web: Replay) -> None:
    web.answer = lambda _: Answer(status=302, headers={"Location": "/again"})

    assert await refusal(fetcher(), web.url) == "over 5 redirects"
    assert len(web.requests) == 6


# How much


def endless(body: bytes, **headers: str) -> Answer:
    named_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(body, headers={**HTML, **named_headers}, endless=True)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(b"<p>", headers={**HTML, "Content-Length": "100000000"}), "over 5 MB"),
        (endless(b"<p>hum</p>" * 10_000), "over 5 MB"),
        (endless(b"hum " * 10_000, Content_Type="text/plain"), "over 5 MB"),
        (endless(b"%PDF-1.7" * 10_000, Content_Type="application/pdf"), "over 30 MB"),
    ],
    ids=["announced", "endless", "endless text", "endless PDF"],
)
async def test_a_page_that_is_too_large_is_left(web: Replay, answer: Answer, reason: str) -> None:
    web.answer = lambda _: answer

    assert await refusal(fetcher(), web.url) == reason


async def test_a_gzip_bomb_is_left_as_too_large_and_not_even_unpacked_whole(web: Replay) -> None:
    bomb = Answer(gzip.compress(bytes(100_000_000)), headers={**HTML, "Content-Encoding": "gzip"})
    web.answer = lambda _: bomb
    reader = fetcher()
    tracemalloc.start()

    reason = await refusal(reader, web.url)

    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reason == "over 5 MB"
    assert most < 30_000_000


@pytest.mark.parametrize(
    ("packing", "sent"),
    [("gzip", gzip.compress(PAGE.body)), (" X-GZip", gzip.compress(PAGE.body)), ("identity", PAGE.body)],
    ids=["gzip", "X-GZip", "identity"],
)
async def test_a_packed_page_is_unpacked(web: Replay, packing: str, sent: bytes) -> None:
    web.answer = lambda _: Answer(sent, headers={**HTML, "Content-Encoding": packing})

    assert (await fetcher().get(web.url)).body == PAGE.body


@pytest.mark.parametrize(
    ("body", "packing", "reason"),
    [
        (gzip.compress(PAGE.body)[:-9], "gzip", "broken off in the middle"),
        (b"not packed at all", "gzip", "no whole answer (error)"),
        (b"\x0b\x02\x80hum\x03", "br", "packed as 'br', which was not asked for"),
    ],
    ids=["broken off", "not packed", "not asked for"],
)
async def test_a_page_that_is_packed_wrongly_is_left(web: Replay, body: bytes, packing: str, reason: str) -> None:
    web.answer = lambda _: Answer(body, headers={**HTML, "Content-Encoding": packing})

    assert await refusal(fetcher(), web.url) == reason


# How long


@pytest.mark.parametrize(
    ("slowness", "whole"),
    [
        (Answer(PAGE.body * 100, headers=HTML, drip_seconds=0.05), 0),
        (Answer(hang=True), 0),
        (Answer(status=302, headers={"Location": "/on"}, seconds=0.2), 5),
    ],
    ids=["drip", "hang", "slow redirects"],
)
async def test_a_slow_page_is_left_at_the_deadline(web: Replay, slowness: Answer, whole: int) -> None:
    web.answer = lambda _: slowness

    assert await refusal(fetcher(deadline=0.5), web.url) == "not sent whole within 0.5 s"
    assert web.whole <= whole


async def test_pages_of_one_host_are_asked_for_one_at_a_time(web: Replay) -> None:
    web.answer = lambda _: Answer(PAGE.body, headers=HTML, seconds=0.1)
    reader = fetcher()

    await asyncio.gather(*(reader.get(f"{web.url}/{number}") for number in range(4)))

    assert web.most_at_once == 1


async def test_another_host_is_not_waited_for(web: Replay) -> None:
    both_are_asked = Barrier(2, timeout=30)

    def once_both_are_asked(_: HttpRequest) -> Answer:
        both_are_asked.wait()
        return PAGE

    web.answer = once_both_are_asked
    lookup, _ = leading_to("127.0.0.1")
    reader, port = fetcher(resolve=lookup), web.url.rpartition(":")[2]

    pages = await asyncio.gather(*(reader.get(f"http://{name}.example:{port}/") for name in ("one", "two")))

    assert [page.body for page in pages] == [PAGE.body] * 2


def test_a_reader_serves_several_event_loops(web: Replay) -> None:
    reader = fetcher()

    pages = [asyncio.run(reader.get(web.url)) for _ in range(2)]

    assert [page.body for page in pages] == [PAGE.body, PAGE.body]


# Of what kind


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(b"gone", status=404, headers=HTML), "HTTP 404"),
        (Answer(b"no", status=403, headers=HTML), "HTTP 403"),
        (Answer(b"\x89PNG", headers={"Content-Type": "image/png"}), "of type 'image/png': HTML, text and PDF are read"),
        (Answer(b"{}", headers={"Content-Type": "application/json"}), "of type 'application/json': HTML, text and PDF"),
        (Answer(b"?"), "of type ''"),
        (Answer(b"\x7fELF", headers={"Content-Type": "application/octet-stream"}), "binary, and no PDF"),
        (Answer(b"half of it", headers=HTML, cut=True), "no whole answer (RemoteProtocolError)"),
    ],
)
async def test_what_is_no_readable_page_is_refused(web: Replay, answer: Answer, reason: str) -> None:
    web.answer = lambda _: answer

    assert (await refusal(fetcher(), web.url)).startswith(reason)


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/html", "html"),
        (" Text/HTML ;charset=utf-8", "html"),
        ("application/xhtml+xml", "html"),
        ("text/plain", "text"),
        ("text/markdown", "text"),
    ],
)
async def test_a_pages_kind_is_the_one_its_server_names(web: Replay, content_type: str, kind: str) -> None:
    web.answer = lambda _: Answer(PAGE.body, headers={"Content-Type": content_type})

    assert (await fetcher().get(web.url)).kind == kind


async def test_a_long_type_is_told_by_its_beginning(web: Replay) -> None:
    web.answer = lambda _: Answer(b"?", headers={"Content-Type": "x" * 500})

    assert await refusal(fetcher(), web.url) == f"of type '{'x' * 60}': HTML, text and PDF are read"


@pytest.mark.parametrize("content_type", ["application/pdf", "application/octet-stream", "text/html"])
async def test_a_pdf_is_told_by_its_beginning(web: Replay, content_type: str) -> None:
    web.answer = lambda _: Answer(b"%PDF-1.7 and so on", headers={"Content-Type": content_type})

    assert (await fetcher().get(web.url)).kind == "pdf"


async def test_a_server_that_is_down_is_told_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

    assert await refusal(fetcher(), f"http://127.0.0.1:{port}/") == "no whole answer (ConnectError)"


# Over TLS


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"hum")

    def log_message(self, *_: object) -> None:
        pass


class _Quiet(HTTPServer):
    def handle_error(self, *_: object) -> None:
        """A client that refuses the certificate is no error here."""


def _certificate(host: str, folder: Path) -> Path:
    """A key and a certificate for one host, signed by itself."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=bool(host))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, *plain) + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """The address of a server with a certificate for `wiki.example.org`, under any name."""
    pem = _certificate("wiki.example.org", tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    with _Quiet(("127.0.0.1", 0), _Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield lambda host: f"https://{host}:{server.server_address[1]}/"
        server.shutdown()


async def test_the_certificate_is_checked_for_the_hosts_name(secure: Callable[[str], str]) -> None:
    lookup, _ = leading_to("127.0.0.1")

    assert (await fetcher(resolve=lookup).get(secure("wiki.example.org"))).body == b"hum"


async def test_a_certificate_of_another_host_is_refused(secure: Callable[[str], str]) -> None:
    lookup, _ = leading_to("127.0.0.1")

    assert await refusal(fetcher(resolve=lookup), secure("other.example.org")) == "no whole answer (ConnectError)"
