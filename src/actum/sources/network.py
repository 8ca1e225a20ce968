"""Where a connection may lead: a host is looked up once, its addresses are judged, and one of those is used (D12)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import DelegateError, DelegateForbidden
from .public_hosts import is_inner_name, is_public, literal_address

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkStream

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host: `(host, port)`."""
Connect: TypeAlias = "Callable[[str, int], Awaitable[AsyncNetworkStream]]"
"""A connection to an address: `(address, port)`."""


class Network:
    """The network behind a client: every connection leads to addresses that were judged for it.

    `at` is how errors name what is connected to. `allow_hosts` are hosts (`name` or `name:port`) that may be private.
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
        self._resolve = resolve or _resolved
        self._connect = connect or _connected

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, none of them private unless it is allowed.

        Raises:
            DelegateForbidden: it leads where it may not.
            DelegateError: it can't be found.
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
        except ValueError:  # a part of it is too long, or empty, or holds what no name can hold
            raise DelegateError(f"{at}: {host!r} is not the name of a host") from None
        # One private address is enough: which of several is connected to may be in the hands of whoever runs the name.
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
        """Never: a URL leads to no socket file."""
        raise NotImplementedError("a URL never leads to a socket file")

    async def sleep(self, seconds: float) -> None:
        """Wait, as the pool of connections asks."""
        await asyncio.sleep(seconds)


async def _resolved(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def _connected(address: str, port: int) -> AsyncNetworkStream:
    from httpcore2 import AnyIOBackend

    backend: Any = AnyIOBackend()
    return await backend.connect_tcp(address, port)
