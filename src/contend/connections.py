"""Outgoing connections: which proxy, which certificates, and why a connection failed."""

import os
import socket
import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from contend.errors import InputError
from contend.settings import is_loopback

_SCHEMES = ("http", "https", "socks5", "socks5h")
_CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Environment variables that name certificate authorities; the first one set wins."""


class Proxy(NamedTuple):
    """A proxy by its address, and the variable that names it."""

    url: str
    variable: str

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        return f"proxy {parts.scheme}://{parts.netloc.rpartition('@')[2]} ({self.variable})"


def proxy_for(url: str) -> Proxy | None:
    """The proxy for an address, from `HTTPS_PROXY` and the like; loopback addresses never use one.

    Raises:
        InputError: the variable holds no address of a proxy.
    """
    from requests.utils import get_environ_proxies, select_proxy  # noqa: PLC0415 - heavy

    if is_loopback(urlsplit(url).hostname or ""):
        return None
    address = select_proxy(url, get_environ_proxies(url))
    if not address:
        return None
    variable = next((name for name, value in os.environ.items() if value == address and _names_proxy(name)), "proxy")
    with_scheme = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(with_scheme)
        usable = parts.scheme in _SCHEMES and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise InputError(
            f"{variable} is no address of a proxy: give http://, https://, socks5:// or socks5h://HOST:PORT"
        )
    return Proxy(with_scheme, variable)


def _names_proxy(variable: str) -> bool:
    return variable.lower().endswith("_proxy")


def certificates() -> ssl.SSLContext:
    """The trusted certificate authorities, built once (30 ms). Blocking: not on the event loop.

    Raises:
        InputError: a variable names a file that cannot be read.
    """
    variable = next((name for name in _CERTIFICATE_VARIABLES if os.environ.get(name)), "")
    return _certificates(variable, os.environ.get(variable, ""))


@cache
def _certificates(variable: str, path: str) -> ssl.SSLContext:
    import httpx2  # noqa: PLC0415 - heavy

    if not variable:
        return httpx2.create_ssl_context(trust_env=False)
    is_folder = Path(path).is_dir()
    try:
        return ssl.create_default_context(cafile=None if is_folder else path, capath=path if is_folder else None)
    except ssl.SSLError as error:
        raise InputError(f"{variable}={path} holds no certificates: name a PEM file of authorities") from error
    except OSError as error:
        raise InputError(f"{variable}={path} cannot be read ({error.strerror}): mend or unset it") from error


class Failure(NamedTuple):
    """Why a connection failed; `remedy` says what to check, if anything specific."""

    reason: str
    remedy: str = ""


def connection_failure(error: BaseException, url: str) -> Failure:
    """The innermost cause of a failed connection, in words."""
    host, causes, proxy = urlsplit(url).hostname, [*_causes(error)], proxy_for(url)
    through = f", through the {proxy}" if proxy else ""
    look_at_proxy = f"check {proxy.variable}, or name {host} in NO_PROXY" if proxy else ""
    for cause in reversed(causes):
        match cause:
            case ssl.SSLCertVerificationError():
                reason = f"the certificate of {host} is not trusted: {cause.verify_message}"
                return Failure(reason, "set SSL_CERT_FILE to a PEM file with its certificate authority")
            case ssl.SSLError():
                reason = f"no TLS connection with {host}: {cause.reason or cause}"
                return Failure(reason, "check whether its address begins with http:// or https://")
            case socket.gaierror():
                name = urlsplit(proxy.url).hostname if proxy else host
                return Failure(f"the host name {name} is not known{through}", look_at_proxy)
            case OSError() if cause.errno and cause.errno > 0:
                return Failure(f"{os.strerror(cause.errno)}{through}", look_at_proxy)
    text = next((str(cause) for cause in reversed(causes) if str(cause)), type(error).__name__)
    return Failure(f"{text}{through}", look_at_proxy)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        inner = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else None
        error = inner or error.__cause__ or error.__context__
