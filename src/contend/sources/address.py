"""Addresses: of a service, whether anybody answers there; of a document, in one spelling."""

import asyncio
import contextlib
import os
import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    import ssl

_CHECK_SECONDS = 3.0
_TRACKING = re.compile(r"^(utm_|fbclid$|gclid$|ref$|ref_src$)")
_ARXIV_VERSION = re.compile(r"(/(?:abs|pdf)/.+?)(?:v\d+)?(?:\.pdf)?$")


def host_of(url: str) -> str:
    """The host's name alone, fit to be shown."""
    return urlsplit(url).hostname or ""


def canonical_url(url: str) -> str:
    """One address for one document: no fragment, no tracking, https, no default port; arXiv versions together."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    if parts.scheme == "file":
        return urlunsplit(("file", "", parts.path, "", ""))
    path = parts.path.rstrip("/")
    if host == "arxiv.org":
        path = _ARXIV_VERSION.sub(r"\1", path).replace("/pdf/", "/abs/")
    query = urlencode([(key, value) for key, value in parse_qsl(parts.query) if not _TRACKING.match(key)])
    port = f":{parts.port}" if parts.port and parts.port not in {80, 443} else ""
    return urlunsplit(("https", host + port, path, query, ""))


async def why_unreachable(url: str, *, seconds: float = _CHECK_SECONDS) -> str | None:
    """None if a connection to the address (or to the proxy in front of it) opens, else why not."""
    server = urlsplit(_proxy_for(url) or url)
    port = server.port or (443 if server.scheme == "https" else 80)
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(server.hostname, port)
    except TimeoutError:
        return f"no answer from {server.hostname} within {seconds:g} s"
    except OSError as error:
        return f"no connection to {server.hostname} ({_reason(error)})"
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return None


def _proxy_for(url: str) -> str | None:
    proxy = None if proxy_bypass(host_of(url)) else getproxies().get(urlsplit(url).scheme)
    return proxy if proxy is None or "//" in proxy else f"http://{proxy}"


def _reason(error: OSError) -> str:
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or "unreachable"


@cache
def certificates() -> "ssl.SSLContext":
    """Whom to believe on the web, for all calls of this process: each context costs 20 ms. Not on the event loop."""
    import httpx  # noqa: PLC0415 - heavy

    return httpx.create_ssl_context()
