"""Fetch a web page: from a checked address, with limits on size and time, of a readable type.

Imported at the first page: `httpx` is slow to load.
"""

import asyncio
import re
import socket
import zlib
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal, NamedTuple
from weakref import WeakValueDictionary

import httpx

from contend.connections import certificates
from contend.sources.readers.document import Unreadable

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Awaitable[list[str]]]

_PORTS = {"http": 80, "https": 443}
_WEB_PORTS = {80, 443, 8080, 8443}
_LAST_PORT = 65_535
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*", re.IGNORECASE)
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_NOT_FOR_ALL = [ip_network(each) for each in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")]
"""Networks that count as global but are not the public web: protocol assignments, which include a cloud's metadata
service; 6to4 relays; a cloud's service for its own machines."""


async def resolve(host: str, port: int) -> list[str]:
    """A host's addresses, the preferred one first.

    Raises:
        OSError: the name cannot be resolved.
    """
    results = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in results))


def parse_address(address: str) -> httpx.URL:
    """Parse an address once, so that the checked address is the requested one.

    Raises:
        Unreadable: it is no address.
    """
    try:
        return httpx.URL(address)
    except httpx.InvalidURL as error:
        raise Unreadable("no web address") from error


class Guard:
    """Allows addresses of the public web and of the user's `allowed_networks`."""

    def __init__(self, allowed_networks: Sequence[Network] = (), *, resolve: Resolve = resolve) -> None:
        self._allowed_networks = tuple(allowed_networks)
        self._resolve = resolve

    async def addresses(self, url: httpx.URL) -> list[str]:
        """The addresses to connect to for this page, and no others: its host may resolve differently at any time.

        Raises:
            Unreadable: it is no web address, or an address of its host is not public.
        """
        _check_form(url)
        port = url.port or _PORTS[url.scheme]
        try:
            addresses = [ip_address(each) for each in await self._resolve(url.raw_host.decode("ascii"), port)]
        except (OSError, ValueError) as error:
            raise Unreadable("its host cannot be found") from error
        for address in addresses:
            if not (self._allows(address) or is_public(address)):
                raise Unreadable(f"its address {address} is not public: CONTEND_FETCH_ALLOW may name its network")
        if port not in _WEB_PORTS and not all(map(self._allows, addresses)):
            raise Unreadable(f"port {port} is none of the web's")
        return list(map(str, addresses))

    def _allows(self, address: Address) -> bool:
        ipv4 = _embedded_ipv4(address) or address
        return any(address in network or ipv4 in network for network in self._allowed_networks)


def is_public(address: Address) -> bool:
    """Whether an address is on the public internet; an IPv4 address within an IPv6 one counts."""
    ipv4 = _embedded_ipv4(address)
    if ipv4 is not None:
        return is_public(ipv4)
    if isinstance(address, IPv6Address) and address not in _GLOBAL_IPV6:
        return False
    return address.is_global and not address.is_multicast and not any(address in network for network in _NOT_FOR_ALL)


def _embedded_ipv4(address: Address) -> IPv4Address | None:
    """The IPv4 address in an IPv6 one: mapped, NAT64 or 6to4."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def _check_form(url: httpx.URL) -> None:
    if url.scheme not in _PORTS:
        raise Unreadable(f"{url.scheme or 'no scheme'}: only http and https are read")
    if not url.host or not 0 < (url.port or _PORTS[url.scheme]) <= _LAST_PORT:
        raise Unreadable("no usable host and port in it")
    if url.userinfo:
        raise Unreadable("a user name in it: such pages are not read")
    if _is_odd(url.host):
        raise Unreadable("its host is an address in an odd spelling")


def _is_odd(host: str) -> bool:
    """Whether the system would read the host as an IPv4 address although it is not written as one."""
    if ":" in host or not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return False
    try:
        return str(IPv4Address(host)) != host
    except ValueError:
        return True


Kind = Literal["html", "text", "pdf"]

_KINDS: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "text",
    "text/markdown": "text",
    "application/pdf": "pdf",
    "application/octet-stream": "pdf",
}
_LARGEST: dict[Kind, int] = {"html": 5_000_000, "text": 5_000_000, "pdf": 30_000_000}
"""Bytes, before and after decompression."""

_PDF_MARK = b"%PDF-"
_MOST_REDIRECTS = 5
_OK = 200
_TIMEOUT = httpx.Timeout(10.0, connect=5.0)
_HEADERS = {
    "User-Agent": f"contend/{version('contend')} (reads a page once for a person's question)",
    "Accept": "text/html, application/xhtml+xml, application/pdf, text/plain;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip",
}


class FetchedPage(NamedTuple):
    """A page's bytes, decompressed."""

    kind: Kind
    body: bytes
    charset: str
    """As its server says; "" if it does not."""


class Fetcher:
    """Fetches pages directly, without a proxy, one at a time from each host.

    `deadline_seconds` covers a page with its redirects and the wait for its host.
    """

    def __init__(self, guard: Guard, *, deadline_seconds: float = 20.0) -> None:
        self._guard = guard
        self._deadline = deadline_seconds
        self._locks: WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock] = WeakValueDictionary()

    async def get(self, address: str) -> FetchedPage:
        """The page behind an address.

        Raises:
            Unreadable: it may not be fetched, was incomplete or too slow, is too large, or of no readable type.
        """
        try:
            async with asyncio.timeout(self._deadline):
                return await self._follow(parse_address(address))
        except TimeoutError:
            raise Unreadable(f"not sent whole within {self._deadline:g} s") from None
        except (httpx.HTTPError, zlib.error) as error:
            raise Unreadable(f"no whole answer ({type(error).__name__})") from error

    async def _follow(self, url: httpx.URL) -> FetchedPage:
        for _ in range(_MOST_REDIRECTS + 1):
            answer = await self._page_or_target(url)
            if isinstance(answer, FetchedPage):
                return answer
            url = answer
        raise Unreadable(f"over {_MOST_REDIRECTS} redirects")

    async def _page_or_target(self, url: httpx.URL) -> FetchedPage | httpx.URL:
        """The page, or the target of a redirect."""
        addresses = await self._guard.addresses(url)
        await asyncio.to_thread(certificates)
        async with self._lock_of(url.host):
            for address in addresses[:-1]:
                try:
                    return await _request(address, url)
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    continue
            return await _request(addresses[-1], url)

    def _lock_of(self, host: str) -> asyncio.Lock:
        return self._locks.setdefault((asyncio.get_running_loop(), host), asyncio.Lock())


async def _request(address: str, url: httpx.URL) -> FetchedPage | httpx.URL:
    # The request goes to the address, so that the name is not resolved a second time.
    request = httpx.Request(
        "GET",
        url.copy_with(host=address),
        headers={**_HEADERS, "Host": url.netloc.decode("ascii")},
        extensions={"sni_hostname": url.raw_host.decode("ascii"), "timeout": _TIMEOUT.as_dict()},
    )
    # Connections are pooled by address, and hosts at one address may need different certificates: no pooling.
    async with httpx.AsyncHTTPTransport(verify=certificates()) as transport:
        response = await transport.handle_async_request(request)
        return _target(url, response) if response.has_redirect_location else await _read(response)


def _target(url: httpx.URL, response: httpx.Response) -> httpx.URL:
    try:
        return url.join(response.headers["location"])
    except httpx.InvalidURL as error:
        raise Unreadable("sent on to no web address") from error


async def _read(response: httpx.Response) -> FetchedPage:
    if response.status_code != _OK:
        raise Unreadable(f"HTTP {response.status_code}")
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    kind = _KINDS.get(media_type)
    if kind is None:
        raise Unreadable(f"of type {media_type[:60]!r}: HTML, text and PDF are read")
    body = await _body(response, _LARGEST[kind])
    if body.startswith(_PDF_MARK):
        kind = "pdf"
    elif kind == "pdf":
        raise Unreadable("binary, and no PDF")
    return FetchedPage(kind, body, response.charset_encoding or "")


async def _body(response: httpx.Response, most: int) -> bytes:
    """The body, decompressed in steps with a limit: a small answer may expand to a very large one."""
    too_large = Unreadable(f"over {most // 1_000_000} MB")
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise too_large
    size, body, unpacking = 0, bytearray(), _unpacking(response.headers.get("content-encoding", ""))
    async for chunk in response.aiter_raw():
        size += len(chunk)
        body += unpacking.decompress(chunk, most + 1 - len(body)) if unpacking else chunk
        if max(size, len(body)) > most:
            raise too_large
    if unpacking is not None and not unpacking.eof:
        raise Unreadable("broken off in the middle")
    return bytes(body)


def _unpacking(packing: str) -> "zlib._Decompress | None":
    match packing.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return zlib.decompressobj(wbits=31)
        case other:
            raise Unreadable(f"packed as {other[:20]!r}, which was not asked for")
