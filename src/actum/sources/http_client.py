"""HTTP clients for addresses that users name: every connection is judged, and answers are bounded (D12)."""

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
"""The errors of an answer that isn't a stream of events, or has too large an event."""
LOST = (httpx2.TransportError,)
"""The errors of a connection that is lost or can't be made."""
UNASKED = (httpx2.InvalidURL,)
"""The errors of a request that can't be made: nothing was sent."""
UNREACHED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
"""The errors of a connection that can't be made: nothing was sent."""
_SECONDS = httpx2.Timeout(30.0, read=None)
"""Without a limit for reading: callers limit how long they wait for an answer."""


def judged_client(
    url: str,
    *,
    headers: Mapping[str, str],
    allow_hosts: Collection[str],
    most_bytes: int,
    trusts_written: bool = True,
    rewritten: Callable[[bytes], bytes] | None = None,
) -> httpx2.AsyncClient:
    """A client for one address: without proxies, credentials of this machine and compression.

    `trusts_written`: a host that is obviously private as written is allowed, since the user asked for it. `rewritten`
    replaces the content of an answer, or a line of a stream of events.
    """
    sent = {"user-agent": "actum", **headers, "accept-encoding": "identity"}
    network = _network(url, allow_hosts, trusts_written=trusts_written)
    return httpx2.AsyncClient(
        transport=_Transport(network, most_bytes, rewritten),
        headers=sent,
        timeout=_SECONDS,
        trust_env=False,
        max_redirects=5,
    )


async def check_address(url: str, allow_hosts: Collection[str], *, trusts_written: bool = True) -> None:
    """Check that a connection to an address may be made. `trusts_written` is as for `judged_client`.

    Raises:
        DelegateForbidden: it may not be called, or isn't an address.
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
    """A network that raises httpx2's errors."""

    async def connect_tcp(self, host: str, port: int, **options: Any) -> AsyncNetworkStream:
        try:
            return await super().connect_tcp(host, port, **options)
        except DelegateError as error:
            raise httpx2.ConnectError(error.message) from None


def _network(url: str, allow_hosts: Collection[str], *, trusts_written: bool) -> _Network:
    host = (urlsplit(url).hostname or "").lower()
    # With a name that can only be a host of this network, the user asked for it. Where a public name leads, its owner
    # decides.
    named = [host] if trusts_written and host and _is_written_private(host) else []
    return _Network(repr(redacted(url)), [*allow_hosts, *named])


def _is_written_private(host: str) -> bool:
    try:
        return literal_address(host) is not None or is_inner_name(host)
    except ValueError:
        return False


class _Transport(httpx2.AsyncHTTPTransport):
    """The transport of httpx2 on our own network; it refuses compressed and too large content."""

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
        if not is_endless:  # events of a stream are bounded one by one
            stream = response.stream = _Stream(stream, _bounded(stream, self._most_bytes))
        if self._rewritten is not None:
            response.stream = _Stream(stream, _rewritten(stream, self._most_bytes, self._rewritten, by_line=is_endless))
        return response


class _Stream(httpx2.AsyncByteStream):
    """The content of an answer in place of the original stream."""

    def __init__(self, stream: httpx2.AsyncByteStream, content: AsyncIterator[bytes]) -> None:
        self._stream, self._content = stream, content

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._content

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bounded(stream: httpx2.AsyncByteStream, left: int) -> AsyncIterator[bytes]:
    """The content of an answer, limited in size."""
    async for chunk in stream:
        left -= len(chunk)
        if left < 0:
            raise httpx2.ReadError("its answer is too large")
        yield chunk


async def _rewritten(
    stream: httpx2.AsyncByteStream, most: int, rewritten: Callable[[bytes], bytes], *, by_line: bool
) -> AsyncIterator[bytes]:
    """The rewritten content of an answer: as a whole, or line by line."""
    pending = bytearray()
    async for chunk in stream:
        before = len(pending)
        pending += chunk
        whole = max(pending.rfind(b"\n", before), pending.rfind(b"\r", before)) + 1 if by_line else 0
        for line in bytes(pending[:whole]).splitlines(keepends=True):
            yield rewritten(line)
        del pending[:whole]
        if len(pending) > most:
            raise httpx2.ReadError("a line of its answer is too large")
    yield rewritten(bytes(pending))
