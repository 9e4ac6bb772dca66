"""Through which proxy and by whose certificates contend connects, and what it says where that fails."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from contend.connections import certificates, connection_failure, proxy_for
from contend.errors import InputError

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
