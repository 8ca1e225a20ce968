"""Which hosts and addresses are on the public internet: everything else is refused unless it is allowed (D12)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_INNER_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home.arpa")
"""Domains that no public host has: not even looked up."""
_NOT_PUBLIC_4 = (
    IPv4Network("192.0.0.0/24"),  # the IETF's own; clouds keep platform services there
    IPv4Network("192.88.99.0/24"),  # relays of 6to4
    IPv4Network("168.63.129.16/32"),  # Azure's platform, which every virtual machine there reaches
)
_UNICAST_6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_TUNNELS_6 = (
    IPv6Network("2001::/23"),  # Teredo and what else the IETF has set apart
    IPv6Network("2002::/16"),  # 6to4
    IPv6Network("2001:db8::/32"),
    IPv6Network("3fff::/20"),
)
_ISATAP = {0x00005EFE, 0x02005EFE}


def is_public(address: str) -> bool:
    """Whether an IP address belongs to a host on the public internet, also if it embeds another address.

    What Python calls global is not enough: to it, translated and tunnelled forms of private addresses are global.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _is_public_4(parsed)
    return parsed.scope_id is None and _is_public_6(parsed)


def _is_public_4(address: IPv4Address) -> bool:
    is_set_apart = address.is_multicast or address.is_reserved or any(address in one for one in _NOT_PUBLIC_4)
    return address.is_global and not is_set_apart


def _is_public_6(address: IPv6Address) -> bool:
    if address.ipv4_mapped is not None:
        return _is_public_4(address.ipv4_mapped)
    if address in _NAT64:
        return _is_public_4(IPv4Address(int(address) & 0xFFFFFFFF))
    if address not in _UNICAST_6 or any(address in one for one in _TUNNELS_6):
        return False
    return address.is_global and (int(address) >> 32) & 0xFFFFFFFF not in _ISATAP


def is_inner_name(host: str) -> bool:
    """Whether a name can only mean a host of this machine or its network: one word, or of a domain set apart."""
    name = host.rstrip(".").lower()
    return "." not in name or any(name == inner or name.endswith(f".{inner}") for inner in _INNER_NAMES)


def literal_address(host: str) -> str | None:
    """The address that a host is written as, None if it is a name.

    Raises:
        ValueError: for a number in any other form than the usual one: some resolvers read `2130706433`, `0x7f.1` or
            `0177.0.0.1` as 127.0.0.1.
    """
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if ":" in bare:
        return str(ip_address(bare))
    last = bare.rstrip(".").rpartition(".")[2].lower()
    if not last.isdigit() and not last.startswith("0x"):
        return None
    return str(IPv4Address(bare))
