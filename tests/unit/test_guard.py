"""From which addresses a page may be fetched: only the public web's, however an address is written."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.sources.fetch import Guard, is_public, parse_address
from contend.sources.readers.document import Unreadable

PUBLIC = "93.184.215.14"


def resolving(**hosts: Sequence[str]) -> Guard:
    """A guard whose hosts have these addresses; every other host has a public one."""

    async def resolve(host: str, _port: int) -> list[str]:
        return list(hosts.get(host.partition(".")[0], [PUBLIC]))

    return Guard(resolve=resolve)


async def refusal(guard: Guard, url: str) -> str:
    with pytest.raises(Unreadable) as excinfo:
        await guard.addresses(parse_address(url))
    return str(excinfo.value)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1"),  # noqa: S104 - refused
        *("169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"),
        *("224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1", "192.0.2.1"),
        *("::", "::1", "fe80::1", "fec0::1", "fc00::1", "ff02::1", "2001:db8::1", "2001::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "2002:7f00:1::", "2002:a9fe:a9fe::1"),
        *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1"),
    ],
)
async def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    host = f"[{address}]" if ":" in address else address

    assert "is not public" in await refusal(Guard(), f"http://{host}/")
    assert "is not public" in await refusal(resolving(planted=[address]), "http://planted.example/")


@pytest.mark.parametrize(
    "address", [PUBLIC, "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
)
def test_a_public_address_is_let_through_in_each_of_its_forms(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.1", "127.0.1", "0x7F.0.0x0.1"),
        *("127.0.0.1.", "0127.0.0.1", "127.0.0.01", "1.2.3.4.5", "134744072", "0x8080808", "8.8.8.8."),
    ],
)
async def test_an_odd_spelling_of_an_address_is_refused_wherever_it_leads(host: str) -> None:
    reason = await refusal(resolving(), f"http://{host}/")

    assert reason in {"its host is an address in an odd spelling", "no web address"}


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127。0。0。1"])
async def test_names_and_signs_that_the_system_takes_for_the_own_machine_are_refused(host: str) -> None:
    assert "is not public" in await refusal(Guard(), f"http://{host}/")


_INNER = st.ip_addresses(v=4).filter(lambda address: not is_public(address))


def _spell(address: IPv4Address, form: str) -> str:
    number = int(address)
    parts = address.packed
    forms = {
        "plain": str(address),
        "decimal": str(number),
        "hex": hex(number),
        "octal": f"0{number:o}",
        "hex parts": ".".join(map(hex, parts)),
        "octal parts": ".".join(f"0{part:o}" for part in parts),
        "short": f"{parts[0]}.{number & 0xFFFFFF}",
        "mapped": f"[{IPv6Address(0xFFFF << 32 | number)}]",
        "nat64": f"[{IPv6Address(0x64FF9B << 96 | number)}]",
        "6to4": f"[{IPv6Address(0x2002 << 112 | number << 80)}]",
    }
    return forms[form]


@given(
    _INNER,
    st.sampled_from("plain,decimal,hex,octal,hex parts,octal parts,short,mapped,nat64,6to4".split(",")),  # noqa: SIM905 - shorter
)
async def test_no_spelling_of_an_inner_address_is_let_through(address: IPv4Address, form: str) -> None:
    assert await refusal(Guard(), f"http://{_spell(address, form)}/")


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_is_public_only_where_the_internet_routes_it(address: IPv6Address) -> None:
    carries = address.ipv4_mapped is not None or address in ip_network("64:ff9b::/96")
    assert not is_public(address) or carries or address in ip_network("2000::/3")


async def test_one_address_that_is_not_public_refuses_the_whole_host() -> None:
    guard = resolving(mixed=[PUBLIC, "10.0.0.1"])

    assert "10.0.0.1 is not public" in await refusal(guard, "http://mixed.example/")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "file: only http and https are read"),
        ("ftp://example.org/x", "ftp: only http and https are read"),
        ("gopher://example.org/x", "gopher: only http and https are read"),
        ("//example.org/x", "no scheme: only http and https are read"),
        ("http:///x", "no usable host and port in it"),
        ("http://example.org:99999/", "no usable host and port in it"),
        ("http://somebody@example.org/", "a user name in it: such pages are not read"),
        ("http://example.org\\@127.0.0.1/", "a user name in it: such pages are not read"),
        ("https://example.org:22/", "port 22 is none of the web's"),
        ("http://example.org:6379/", "port 6379 is none of the web's"),
    ],
)
async def test_what_is_no_plain_address_of_the_web_is_refused(url: str, reason: str) -> None:
    assert await refusal(resolving(), url) == reason


async def test_a_host_that_cannot_be_found_is_told_so() -> None:
    async def nobody(_host: str, _port: int) -> list[str]:
        raise OSError("no such host")

    assert await refusal(Guard(resolve=nobody), "https://gone.example/") == "its host cannot be found"


@pytest.mark.parametrize("url", ["https://example.org/", "http://example.org:8080/x", "https://例え.jp/"])
async def test_a_page_of_the_public_web_is_let_through(url: str) -> None:
    assert await resolving().addresses(parse_address(url)) == [PUBLIC]


async def test_a_network_of_the_users_own_is_let_through_on_every_port_and_no_other() -> None:
    async def wiki(host: str, _port: int) -> list[str]:
        return ["10.1.2.3" if host == "wiki.example" else "10.2.0.1"]

    guard = Guard([ip_network("10.1.0.0/16")], resolve=wiki)

    assert await guard.addresses(parse_address("http://wiki.example:8090/page")) == ["10.1.2.3"]
    assert "10.2.0.1 is not public" in await refusal(guard, "http://other.example/")
