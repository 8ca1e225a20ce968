"""HTTP to an address that a user has named, over connections each of which is judged, with bounded answers (D12)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import httpx2
from httpcore2 import AsyncConnectionPool, AsyncNetworkStream

from ..errors import DelegateError, DelegateForbidden
from ..protocol.context import redacted
from .network import Network, is_inner_name, literal_address

Client: TypeAlias = httpx2.AsyncClient
Answer: TypeAlias = httpx2.Response
Events: TypeAlias = httpx2.EventSource
ServerSent: TypeAlias = httpx2.ServerSentEvent
NO_EVENTS = (httpx2.SSEError,)
"""The errors of an answer that is no stream of events, or has one that is too large."""
LOST = (httpx2.TransportError,)
"""The errors of a connection that is lost, or can't be made."""
UNASKED = (httpx2.InvalidURL,)
"""The errors of a request that can't be made: nothing was sent."""
UNREACHED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
"""Those of a connection that can't be made: nothing was sent."""
_SECONDS = httpx2.Timeout(30.0, read=None)
"""An answer may take as long as its caller waits for it."""


def judged_client(
    url: str,
    *,
    headers: Mapping[str, str],
    allow_hosts: Collection[str],
    most_bytes: int,
    trusts_written: bool = True,
    rewritten: Callable[[bytes], bytes] | None = None,
) -> httpx2.AsyncClient:
    """A client for one address: no proxies, cookies or credentials of this machine, and nothing compressed.

    `trusts_written`: an address that is written as a private one is what its user has asked for. `rewritten` gives what
    is read in place of the content of an answer, or of a line of a stream of events.
    """
    own = {"user-agent": "actum", **headers, "accept-encoding": "identity"}
    network = _network(url, allow_hosts, trusts_written=trusts_written)
    return httpx2.AsyncClient(
        transport=_Transport(network, most_bytes, rewritten),
        headers=own,
        timeout=_SECONDS,
        trust_env=False,
        max_redirects=5,
    )


async def check_address(url: str, allow_hosts: Collection[str], *, trusts_written: bool = True) -> None:
    """Whether a connection to an address may be made. `trusts_written` is as for `client_of`.

    Raises:
        DelegateForbidden: not to this one, or it isn't one.
        DelegateError: its host can't be found.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        host, port, parts = None, 0, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or "@" in parts.netloc:
        raise DelegateForbidden(f"{redacted(url)!r} is not an address of http or https without credentials")
    await _network(url, allow_hosts, trusts_written=trusts_written).addresses(host, port)


class _Network(Network):
    """The network of a client that knows the errors of its library alone."""

    async def connect_tcp(self, host: str, port: int, **more: Any) -> AsyncNetworkStream:
        try:
            return await super().connect_tcp(host, port, **more)
        except DelegateError as error:
            raise httpx2.ConnectError(error.message) from None


def _network(url: str, allow_hosts: Collection[str], *, trusts_written: bool) -> _Network:
    host = (urlsplit(url).hostname or "").lower()
    # A name that can only mean a host of this network is what the user has asked for. A name of the public internet
    # isn't: where it leads is decided by whoever runs it.
    own = [host] if trusts_written and host and _is_written_private(host) else []
    return _Network(repr(redacted(url)), [*allow_hosts, *own])


def _is_written_private(host: str) -> bool:
    try:
        return literal_address(host) is not None or is_inner_name(host)
    except ValueError:
        return False


class _Transport(httpx2.AsyncHTTPTransport):
    """The transport of httpx2 on a network of our own; it refuses what is compressed or too large."""

    def __init__(self, network: Network, most_bytes: int, rewritten: Callable[[bytes], bytes] | None) -> None:
        ssl_context = httpx2.create_ssl_context(trust_env=False)
        super().__init__(verify=ssl_context, trust_env=False)
        backend: Any = network
        self._pool = AsyncConnectionPool(ssl_context=ssl_context, network_backend=backend)
        self._most_bytes = most_bytes
        self._rewritten = rewritten

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise httpx2.RemoteProtocolError("it sent compressed content, which wasn't asked for")
        stream: Any = response.stream
        is_endless = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        if not is_endless:  # of a stream of events, each is bounded where it is put together
            stream = response.stream = _Stream(stream, _bounded(stream, self._most_bytes))
        if self._rewritten is not None:
            response.stream = _Stream(stream, _rewritten(stream, self._most_bytes, self._rewritten, by_line=is_endless))
        return response


class _Stream(httpx2.AsyncByteStream):
    """The content of an answer as it is read from that of another."""

    def __init__(self, stream: httpx2.AsyncByteStream, content: AsyncIterator[bytes]) -> None:
        self._stream, self._content = stream, content

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._content

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bounded(stream: httpx2.AsyncByteStream, left: int) -> AsyncIterator[bytes]:
    """The content of an answer up to a size."""
    async for chunk in stream:
        left -= len(chunk)
        if left < 0:
            raise httpx2.ReadError("its answer is too large")
        yield chunk


async def _rewritten(
    stream: httpx2.AsyncByteStream, most: int, rewritten: Callable[[bytes], bytes], *, by_line: bool
) -> AsyncIterator[bytes]:
    """The content of an answer as it is rewritten: as a whole, or line by line."""
    held = bytearray()
    async for chunk in stream:
        before = len(held)
        held += chunk
        whole = max(held.rfind(b"\n", before), held.rfind(b"\r", before)) + 1 if by_line else 0
        for line in bytes(held[:whole]).splitlines(keepends=True):
            yield rewritten(line)
        del held[:whole]
        if len(held) > most:
            raise httpx2.ReadError("a line of its answer is too large")
    yield rewritten(bytes(held))
