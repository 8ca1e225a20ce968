"""Judges connections: a host is looked up once, its addresses are judged, and one of those is used (D12)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import DelegateError, DelegateForbidden

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkStream


_INNER_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home.arpa")
"""Domains without public hosts, which aren't even looked up."""
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

    Python's `is_global` is not enough: it is true of translated and tunnelled forms of private addresses.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _is_public_4(parsed)
    return parsed.scope_id is None and _is_public_6(parsed)


def _is_public_4(address: IPv4Address) -> bool:
    is_set_apart = address.is_multicast or address.is_reserved or any(address in network for network in _NOT_PUBLIC_4)
    return address.is_global and not is_set_apart


def _is_public_6(address: IPv6Address) -> bool:
    if address.ipv4_mapped is not None:
        return _is_public_4(address.ipv4_mapped)
    if address in _NAT64:
        return _is_public_4(IPv4Address(int(address) & 0xFFFFFFFF))
    if address not in _UNICAST_6 or any(address in network for network in _TUNNELS_6):
        return False
    return address.is_global and (int(address) >> 32) & 0xFFFFFFFF not in _ISATAP


def is_inner_name(host: str) -> bool:
    """Whether a name can only mean a host of this machine or its network: one word, or in a reserved domain."""
    name = host.rstrip(".").lower()
    return "." not in name or any(name == inner or name.endswith(f".{inner}") for inner in _INNER_NAMES)


def literal_address(host: str) -> str | None:
    """The address that a host is written as, None if it is a name.

    Raises:
        ValueError: for a number in an unusual form: some resolvers read `2130706433`, `0x7f.1` or `0177.0.0.1` as
            127.0.0.1.
    """
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if ":" in bare:
        return str(ip_address(bare))
    last = bare.rstrip(".").rpartition(".")[2].lower()
    if not last.isdigit() and not last.startswith("0x"):
        return None
    return str(IPv4Address(bare))


Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host: `(host, port)`."""
Connect: TypeAlias = "Callable[[str, int], Awaitable[AsyncNetworkStream]]"
"""A connection to an address: `(address, port)`."""


class Network:
    """The network behind a client: every connection leads to an address that was judged for it.

    `at` is the destination's name in errors. `allow_hosts` are hosts (`name` or `name:port`) that may be private.
    """

    def __init__(
        self,
        at: str,
        allow_hosts: Collection[str],
        *,
        resolve: Resolve | None = None,
        connect: Connect | None = None,
    ) -> None:
        self._at = at
        self._allowed = {host.lower().rstrip(".") for host in allow_hosts}
        self._resolve = resolve or _resolve_host
        self._connect = connect or _open_connection

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, none of them private unless it is allowed.

        Raises:
            DelegateForbidden: the host may not be called.
            DelegateError: the host can't be found.
        """
        at, host = self._at, host.lower()
        name = host.rstrip(".")
        is_allowed = not {name, f"{name}:{port}"}.isdisjoint(self._allowed)
        try:
            literal = literal_address(host)
        except ValueError:
            raise DelegateForbidden(f"{at}: {host!r} is an address in an unusual form") from None
        if literal is None and is_inner_name(host) and not is_allowed:
            raise DelegateForbidden(f"{at}: {host!r} is a name of this network; allow_hosts allows it")
        try:
            addresses = [literal] if literal is not None else await self._resolve(host, port)
        except OSError as error:
            raise DelegateError(f"{at}: {host!r} can't be found ({error.strerror or error})") from None
        except ValueError:  # a label is too long, empty or invalid
            raise DelegateError(f"{at}: {host!r} is not the name of a host") from None
        # One private address is enough: the owner of the name may decide which of several is used.
        if not is_allowed and not all(map(is_public, addresses)):
            raise DelegateForbidden(f"{at}: {host!r} has an address that is not public; allow_hosts allows it")
        if not addresses:
            raise DelegateError(f"{at}: {host!r} has no address")
        return addresses

    async def connect_tcp(self, host: str, port: int, **_: Any) -> AsyncNetworkStream:
        """A connection to the first of a host's addresses that can be reached; raises as `addresses`, too."""
        import httpcore2

        failure: Exception | None = None
        for address in await self.addresses(host, port):
            try:
                return await self._connect(address, port)
            except (httpcore2.NetworkError, httpcore2.TimeoutException, OSError) as error:
                failure = error
        raise httpcore2.ConnectError(f"no address of {host} can be reached") from failure

    async def connect_unix_socket(self, path: str, **_: Any) -> AsyncNetworkStream:
        """Refuse: a URL leads to no socket file."""
        raise NotImplementedError("a URL never leads to a socket file")

    async def sleep(self, seconds: float) -> None:
        """Wait, for the pool of connections."""
        await asyncio.sleep(seconds)


async def _resolve_host(host: str, port: int) -> list[str]:
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in infos))


async def _open_connection(address: str, port: int) -> AsyncNetworkStream:
    from httpcore2 import AnyIOBackend

    backend: Any = AnyIOBackend()
    return await backend.connect_tcp(address, port)
