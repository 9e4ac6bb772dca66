"""Which addresses a page may be fetched from: all that its host has are checked, odd spellings are refused."""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import httpx

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
_NOT_FOR_ALL = tuple(
    map(
        ip_network,
        (
            "192.0.0.0/24",  # protocol assignments, one cloud's metadata among them
            "192.88.99.0/24",  # relays to 6to4
            "168.63.129.16/32",  # a cloud's service for its own machines
        ),
    )
)
"""What counts as global and is not the public web."""


async def resolve(host: str, port: int) -> list[str]:
    """A host's addresses, the preferred one first.

    Raises:
        OSError: it has none, or nobody answers for it.
    """
    results = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in results))


def parsed(address: str) -> httpx.URL:
    """The one reading of an address: what is checked is what is asked.

    Raises:
        Unreadable: it is none.
    """
    try:
        return httpx.URL(address)
    except httpx.InvalidURL as error:
        raise Unreadable("no web address") from error


class Guard:
    """Lets the public web through, and the `allowed` networks of the user's own."""

    def __init__(self, allowed: Sequence[Network] = (), *, resolve: Resolve = resolve) -> None:
        self._allowed = tuple(allowed)
        self._resolve = resolve

    async def addresses(self, url: httpx.URL) -> list[str]:
        """The addresses that may be connected to for this page, and no others: its host may resolve anew at any time.

        Raises:
            Unreadable: it is no web address, or an address of its host is not for all.
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
        ipv4 = _carried(address) or address
        return any(address in network or ipv4 in network for network in self._allowed)


def is_public(address: Address) -> bool:
    """Whether it is a machine's on the public internet; of an IPv6 address that carries an IPv4 one, both count."""
    ipv4 = _carried(address)
    if ipv4 is not None:
        return is_public(ipv4)
    if isinstance(address, IPv6Address) and address not in _GLOBAL_IPV6:
        return False
    return address.is_global and not address.is_multicast and not any(address in network for network in _NOT_FOR_ALL)


def _carried(address: Address) -> IPv4Address | None:
    """The IPv4 address behind an IPv6 one: mapped, or reached through NAT64 or 6to4."""
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
    """Whether the system would take the host for an IPv4 address though it is not written as one."""
    if ":" in host or not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return False
    try:
        return str(IPv4Address(host)) != host
    except ValueError:
        return True
