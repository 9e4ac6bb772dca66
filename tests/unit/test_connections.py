"""Through which proxy and by whose certificates contend connects, and what it says where that fails."""

import asyncio
import datetime as dt
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from contend.connections import certificates, connection_failure, proxy_for
from contend.errors import InputError
from contend.llm.address import EndpointAddress
from contend.llm.endpoint import NoAnswer
from contend.llm.listing import listed_models
from fakes.loopback import LoopbackServer

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (*VARIABLES, *map(str.upper, VARIABLES), *CERTIFICATES):
        monkeypatch.delenv(name, raising=False)
    return


@pytest.mark.parametrize(
    ("variable", "proxy", "url"),
    [
        ("HTTPS_PROXY", "http://proxy:3128", "https://llm.example.org/v1"),
        ("http_proxy", "proxy:3128", "http://llm.example.org/v1"),
        ("ALL_PROXY", "socks5://proxy:1080", "https://llm.example.org/v1"),
        ("ALL_PROXY", "socks5h://user:pass@proxy:1080", "http://llm.example.org/v1"),
    ],
)
def test_the_proxy_of_an_address_is_known_with_who_names_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str, url: str
) -> None:
    monkeypatch.setenv(variable, proxy)

    named = proxy_for(url)

    assert named is not None
    assert (named.url.removeprefix("http://"), named.variable) == (proxy.removeprefix("http://"), variable)
    assert "pass" not in str(named)


@pytest.mark.parametrize(
    ("no_proxy", "url"),
    [
        ("", "http://127.0.0.1:8080/v1"),
        ("", "http://localhost:8080/v1"),
        ("", "http://[::1]:8080/v1"),
        ("example.org", "https://llm.example.org/v1"),
        ("10.0.0.0/8", "http://10.1.2.3:8000/v1"),
        ("*", "https://llm.example.org/v1"),
    ],
)
def test_this_machine_and_hosts_of_no_proxy_are_asked_directly(
    monkeypatch: pytest.MonkeyPatch, no_proxy: str, url: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)

    assert proxy_for(url) is None


@pytest.mark.parametrize("proxy", ["socks4://proxy:1080", "ftp://proxy", "http://[bad", "http://:80", "http://proxy:x"])
def test_an_address_that_no_proxy_can_have_is_refused_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)

    with pytest.raises(InputError, match="ALL_PROXY is no address of a proxy"):
        proxy_for("https://llm.example.org/v1")


@pytest.mark.parametrize("variable", CERTIFICATES)
def test_a_file_of_certificates_that_is_missing_is_refused_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "/missing.pem")

    with pytest.raises(InputError, match=f"{variable}=/missing.pem cannot be read"):
        certificates()


def test_a_file_without_certificates_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing", "utf-8")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "empty.pem"))

    with pytest.raises(InputError, match="holds no certificates"):
        certificates()


def test_without_a_variable_the_systems_authorities_are_trusted() -> None:
    assert certificates().verify_mode is ssl.CERT_REQUIRED


def test_the_innermost_cause_of_a_failure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    outer = RuntimeError("Connection error.")
    outer.__cause__ = ExceptionGroup("all attempts failed", [ConnectionRefusedError(111, "refused")])

    reason, remedy = connection_failure(outer, "https://llm.example.org/v1")

    assert reason == "Connection refused, through the proxy http://proxy:3128 (HTTPS_PROXY)"
    assert remedy == "check HTTPS_PROXY, or name llm.example.org in NO_PROXY"


def test_a_private_certificate_authority_is_named_with_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = _signed_by_itself(tmp_path)
    with _https(pem) as address, pytest.raises(NoAnswer, match="certificate of localhost is not trusted") as excinfo:
        asyncio.run(listed_models(address))
    assert "SSL_CERT_FILE" in excinfo.value.remedy

    for variable in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(variable, str(pem))
        with _https(pem) as address:
            listed = asyncio.run(listed_models(address))
        monkeypatch.delenv(variable)
        assert [model["id"] for model in listed] == ["m1"]


class _Models(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"data": [{"id": "m1"}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Silent."""


@contextmanager
def _https(pem: Path) -> Iterator[EndpointAddress]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server = LoopbackServer(("127.0.0.1", 0), _Models)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.start()
    try:
        yield EndpointAddress.parse(f"https://localhost:{server.server_address[1]}/v1", "url")
    finally:
        server.stop()


def _signed_by_itself(folder: Path) -> Path:
    """A key and a certificate for `localhost`."""
    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "private authority")])
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "server.pem"
    parts = key.private_bytes(serialization.Encoding.PEM, *plain), signed.public_bytes(serialization.Encoding.PEM)
    path.write_bytes(b"".join(parts))
    return path
