"""Which addresses are public: every spelling and every embedding of one that is not (D12)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.sources.network import is_inner_name, is_public, literal_address

PRIVATE = [
    *["127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
    *["169.254.169.254", "169.254.0.1", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1"],
    *["198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"],
    *["192.88.99.1", "168.63.129.16"],
    *["::", "::1", "fe80::1", "fe80::1%eth0", "2606:4700::1111%1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1"],
    *[
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "::127.0.0.1",
        "::8.8.8.8",
    ],
    *[
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "64:ff9b:1:7f00:1::",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
    ],
    *["2001:0:7f00:1::", "2001::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1", "2606:4700::5efe:10.0.0.1"],
    *["2606:4700::200:5efe:8.8.8.8", "4000::1", "e000::1"],
    *["", "localhost", "1", "8.8.8", "8.8.8.8.8", "08.8.8.8", "8.8.8.8 ", "８.8.8.8", "256.1.1.1", "[::1]"],
]
PUBLIC = [
    *[
        "8.8.8.8",
        "1.1.1.1",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "223.255.255.254",
    ],
    *["2606:4700:4700::1111", "2a00:1450:4001::200e", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"],
]


@pytest.mark.rule("D12")
@pytest.mark.parametrize("address", PRIVATE)
def test_it_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.rule("D12")
@pytest.mark.parametrize("address", PUBLIC)
def test_it_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.rule("D12")
@given(st.integers(0, 2**32 - 1))
def test_a_private_address_stays_private_however_it_is_embedded(number: int) -> None:
    four = IPv4Address(number)
    embedded = [
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
        IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)),
        IPv6Address((0x26064700 << 96) | (0x5EFE << 32) | number),
        IPv6Address(number),
    ]
    if not is_public(str(four)):
        assert not any(is_public(str(address)) for address in embedded)


@pytest.mark.rule("D12")
@given(st.one_of(st.integers(0, 2**32 - 1).map(IPv4Address), st.integers(0, 2**128 - 1).map(IPv6Address)))
def test_public_is_narrower_than_what_python_calls_global(address: IPv4Address | IPv6Address) -> None:
    if is_public(str(address)) and address not in (ip_address("64:ff9b::"),):
        is_translated = isinstance(address, IPv6Address) and int(address) >> 32 == 0x64FF9B << 64
        assert is_translated or address.is_global
        assert not address.is_multicast
        assert not address.is_loopback
        assert not address.is_private or is_translated


@pytest.mark.rule("D12")
@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0X7F.1",
        "017700000001",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.1.",
        "1.2.3.4.5",
        "0",
        "[::1",
        "127.0.0.0x1",
        "0x",
        "1.2.3.",
        "[::g]",
        "256.256.256.256",
    ],
)
def test_an_address_in_an_unusual_form_is_none(host: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        literal_address(host)


@pytest.mark.rule("D12")
def test_an_address_in_the_usual_form_is_that_and_a_name_is_none() -> None:
    assert [literal_address(address) for address in ("8.8.8.8", "[2001:DB8::1]", "::1")] == [
        "8.8.8.8",
        "2001:db8::1",
        "::1",
    ]
    assert [literal_address(address) for address in ("example.com", "1.example", "0x7f.example", "dead.beef")] == [
        None
    ] * 4


@pytest.mark.rule("D12")
def test_names_of_this_network_are_told_from_public_ones() -> None:
    inner = [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "printer",
        "nas.local",
        "metadata.google.internal",
        "x.home.arpa",
    ]
    assert all(map(is_inner_name, inner))
    assert not any(map(is_inner_name, ["example.com", "localhost.example.com", "internal.example", "notlocal.io"]))
