"""The connection to one server: one task owns it, which enters and leaves; calls come from any task.

The task that has entered a client is cancelled when an HTTP server dies, and no other may leave it: so that is never
a run's. A server that has died is started again by the next call; no call is ever made twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from ..errors import DelegateError, Outcome, ServerError
from ..protocol.activity import raised_words
from ..protocol.context import Progress
from ..schema.json import MAX_DEPTH, JsonObject, encode, is_list, is_object
from ..schema.quoting import printable
from .adapting import visible
from .process import Tail, process_of
from .server import Server
from .sifting import TOO_DEEP, UNREADABLE, shallow, sifted

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp.shared.dispatcher import ProgressFnT

_LOG = logging.getLogger("actum.connections")
_LONGEST_MESSAGE = 200
_CLOSED = ("SSE stream ", "Connection closed")
"""How the SDK says that a connection has ended over HTTP; its code is also one that servers answer with."""
_UNREAD = ("Failed to parse SSE message", "Failed to parse JSON response")
"""How it says that an answer over HTTP can't be read."""
_MOST_PAGES = 100
_MOST_TOOLS = 1_000
_MOST_FAILURES = 3
"""How often a server is started in vain, one time after the other, before calls are refused at once."""


@dataclass(slots=True, eq=False)
class _Start:
    """One attempt at having a server ready; all calls that need it wait for the same."""

    done: asyncio.Event = field(default_factory=asyncio.Event)
    client: Client | None = None
    failure: ServerError | None = None


@dataclass(eq=False)
class Connection:
    """A server as it is now: not started, ready, or closed. `own` is what its task does."""

    server: Server
    environment: Mapping[str, str]
    listed: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Its tools by name, as they were listed when it was last started."""
    left_out: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What it listed and can't be offered, by name, empty where it has none, and why."""
    starts: int = 0
    """How often it has been started."""
    tail: Tail = field(default_factory=Tail)
    _client: Client | None = None
    _start: _Start | None = None
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _is_closed: bool = False
    _is_forgotten: bool = False
    """Whether an HTTP server has said that it doesn't know the session any more."""
    _failures: int = 0
    _why: str = ""
    _dropped: int = 0
    """How many malformed notifications it has sent."""

    async def own(self) -> None:
        """Start the server whenever it is wanted, keep it, and end it; over when the connection is closed."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if self._is_closed:
                return
            if (start := self._start) is not None:
                await self._keep(start)

    def close(self) -> None:
        """Let the server end."""
        self._is_closed = True
        self._client = None
        self._over.set()
        self._wanted.set()

    async def ready(self) -> Client:
        """The client of the server, which is started where it isn't running.

        Raises:
            ServerError: it can't be; or the connection is closed.
        """
        if self._is_closed:
            raise self._error("is not connected any more")
        if self._client is not None:
            return self._client
        if self._start is None:
            if self._failures >= _MOST_FAILURES:
                raise self._error(f"could not be started {self._failures} times", "server_start")
            self._start = _Start()
            self._wanted.set()
        start = self._start
        await start.done.wait()
        if start.client is None:
            told = start.failure
            raise self._error("is not connected any more") if told is None else _again(told)
        return start.client

    async def call(
        self, tool: str, arguments: JsonObject, expected: JsonObject | None = None, progress: Progress | None = None
    ) -> JsonObject:
        """Make one call of a tool, once; return the result as it was sent.

        Args:
            tool: its name on the server.
            arguments: the parameters by name.
            expected: the tool as it was when the call was offered: one that has changed since isn't called.
            progress: hears how far it is.

        Raises:
            ServerError: it wasn't made, failed, took too long, or what became of it isn't known.
        """
        try:
            client = await self.ready()
        except ServerError as error:
            error.outcome = "not made"
            raise
        if expected is not None and self.listed.get(tool) != expected:
            why = "has changed this tool since it was offered; the call was not made"
            raise self._error(why, "server_changed", outcome="not made")
        try:
            async with asyncio.timeout(self.server.timeout):
                result = await _called(client, tool, arguments, progress)
        except TimeoutError:
            why = f"took longer than {self.server.timeout:g} seconds; the call was cancelled"
            raise self._error(why, outcome="unknown") from None
        except Exception as error:
            raise self._failed(client, error) from error
        self._failures = 0
        return result

    async def _keep(self, start: _Start) -> None:
        """Start the server for those who wait, and keep it until it is over."""
        self._over.clear()
        self._why, self._is_forgotten = "", False
        self.tail = Tail()
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self.server.start_timeout):
                    client = await self._enter(stack)
                    self.listed, self.left_out = await _listed(client, self.server)
                self.starts += 1
                self._start, self._client, start.client = None, client, client
                start.done.set()
                if not self._is_closed:
                    await self._over.wait()
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
        except TimeoutError:
            start.failure = self._error(f"did not start within {self.server.start_timeout:g} seconds", "server_start")
        except (Exception, BaseExceptionGroup) as error:
            start.failure = self._unstarted(error)
        finally:
            self._client = None
            if not start.done.is_set():
                self._start = None
                self._failures += 1
                start.done.set()

    async def _enter(self, stack: AsyncExitStack) -> Client:
        from mcp.client import Client
        from mcp_types import Implementation

        return await stack.enter_async_context(
            Client(
                sifted(await self._transport(stack), self._drop),
                mode=self.server.protocol,
                cache=None,
                client_info=Implementation(name="actum", version=version("actum")),
            )
        )

    async def _transport(self, stack: AsyncExitStack) -> AbstractAsyncContextManager[Any]:
        url, most = self.server.url, self.server.most_bytes
        if url is None:
            return process_of(self.server, {**self.environment, **self.server.env}, self.tail, self._ended)
        from mcp.client.streamable_http import streamable_http_client

        from ..sources.http_client import check_address, judged_client

        allowed = self.server.allow_hosts
        await check_address(url, allowed)
        headers = self.server.headers
        client = judged_client(url, headers=headers, allow_hosts=allowed, most_bytes=most, rewritten=shallow)
        client.event_hooks = {"response": [self._heard]}
        return streamable_http_client(url, http_client=await stack.enter_async_context(client), max_sse_event_size=most)

    def _drop(self, method: str) -> None:
        """Count a malformed notification; the log has a line of the first, and each time that they have doubled."""
        self._dropped += 1
        if self._dropped.bit_count() == 1:
            said = f"{printable(method[:_LONGEST_MESSAGE])}, {self._dropped} in all"
            _LOG.warning("the server %r has sent malformed notifications: %s", self.server.name, said)

    async def _heard(self, answer: Any) -> None:
        asked = answer.request
        self._is_forgotten |= answer.status_code == 404 and asked.method == "POST" and "mcp-session-id" in asked.headers

    def _ended(self, why: str) -> None:
        """Take note that the server says no more, so that the next call starts it again."""
        self._why = self._why or why
        self._client = None
        self._over.set()

    def _failed(self, client: Client, error: Exception) -> ServerError:
        """Why a call failed, whatever the SDK calls it."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, REQUEST_TIMEOUT

        if isinstance(error, ServerError):
            return error
        code = error.code if isinstance(error, MCPError) else None
        if code == INVALID_REQUEST and self._is_forgotten:
            self._lost(client)
            return self._error("has forgotten this session; the call was not made", "server_lost", outcome="not made")
        if self.server.url is not None and _is_unreached(error):
            self._lost(client)
            return self._error("can't be reached: the call was not made", "server_lost", outcome="not made")
        if isinstance(error, MCPError) and (code == UNREADABLE or str(error).startswith(_UNREAD)):
            why = "has sent an answer that can't be read: the call may have taken effect"
            return self._error(why, outcome="unknown")
        is_closed = code == CONNECTION_CLOSED and (self._over.is_set() or str(error).startswith(_CLOSED))
        if is_closed or not isinstance(error, MCPError | ValueError):
            self._lost(client)
            why = self._why or "was lost"
            lost = f"{why} during the call: whether it was carried out is not known"
            return self._error(lost, "server_lost", outcome="unknown")
        if code is None:
            return self._error("has sent a result that can't be read", said=raised_words(error), outcome="unusable")
        outcome: Outcome | None = "not made" if code in _refusals() else "unknown" if code == REQUEST_TIMEOUT else None
        return self._error(f"refuses the call (code {code})", said=str(error), outcome=outcome)

    def _lost(self, client: Client) -> None:
        if self._client is client or self._client is None:
            self._client = None
            self._over.set()

    def _unstarted(self, error: BaseException) -> ServerError:
        """Why the server could not be started; what it said itself is for people."""
        first = _first(error)
        if isinstance(first, ServerError):
            return first
        if isinstance(first, DelegateError):
            return self._error(f"can't be reached: {first.message}", "server_start")
        if isinstance(first, OSError) and first.strerror and self.server.url is None:
            return self._error(f"can't be started: {first.strerror}", "server_start")
        why = self._why or ("can't be reached" if self.server.url is not None else "has ended")
        return self._error(f"{why} before it was ready", "server_start", said=str(self.tail) or raised_words(first))

    def _error(self, reason: str, code: str = "server", said: str = "", outcome: Outcome | None = None) -> ServerError:
        return ServerError(reason, server=self.server.name, code=code, said=said, outcome=outcome)


def _is_unreached(error: BaseException) -> bool:
    """Whether no connection could be made, so that nothing was sent."""
    from ..sources.http_client import UNREACHED

    return isinstance(_first(error), UNREACHED)


def _refusals() -> frozenset[int]:
    """The codes by which a server says that it hasn't begun a call."""
    from mcp_types import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR

    return frozenset({INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR})


async def _called(client: Client, tool: str, arguments: JsonObject, progress: Progress | None) -> JsonObject:
    """One request, sent once. `call_tool` of the SDK may send it again, and judges results by another validator."""
    from mcp_types import CallToolRequest, CallToolRequestParams
    from pydantic import TypeAdapter

    request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
    as_sent: Any = TypeAdapter(dict[str, Any])
    telling = None if progress is None else _telling(progress)
    result: JsonObject = await client.session.send_request(request, as_sent, progress_callback=telling)
    return result


def _telling(told: Progress) -> ProgressFnT:
    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told(progress, total, None if message is None else visible(message[:_LONGEST_MESSAGE]))

    return tell


async def _listed(client: Client, server: Server) -> tuple[dict[str, JsonObject], list[tuple[str, str]]]:
    """All tools of a server, of two of one name the first; and the names of those that are none, and why.

    Raises:
        ServerError: it lists more than can be taken.
    """
    found: dict[str, JsonObject] = {}
    malformed: list[tuple[str, str]] = []
    cursor: str | None = None
    size = 0
    for _ in range(_MOST_PAGES):
        tools, cursor = await _page(client, cursor)
        for one in tools:
            listed = _sound(one)
            size += len(encode(one))
            if listed is None:
                malformed.append((_name_of(one), _why_none(one)))
            else:
                found.setdefault(listed["name"], listed)
        if len(found) + len(malformed) > _MOST_TOOLS or size > server.most_bytes:
            break
        if cursor is None:
            return found, malformed
    what = f"more than {_MOST_TOOLS} tools, {_MOST_PAGES} pages or {server.most_bytes} bytes"
    raise ServerError(f"lists {what}", server=server.name, code="server_start")


async def _page(client: Client, cursor: str | None) -> tuple[list[Any], str | None]:
    """One page of tools. The SDK refuses a page as a whole for one malformed tool: then it is read as it was sent."""
    from pydantic import ValidationError

    try:
        page = await client.list_tools(cursor=cursor)
    except ValidationError:
        return await _page_as_sent(client, cursor)
    return [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in page.tools], page.next_cursor


async def _page_as_sent(client: Client, cursor: str | None) -> tuple[list[Any], str | None]:
    from mcp_types import ListToolsRequest, PaginatedRequestParams

    request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
    data = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    options: Any = {}
    session: Any = client.session  # it has no public way to a result that isn't judged
    session._stamp(data, options)
    raw: JsonObject = await session._dispatcher.send_raw_request(data["method"], data.get("params"), options)
    tools, following = raw.get("tools"), raw.get("nextCursor")
    if not is_list(tools) or not (following is None or isinstance(following, str)):
        raise ValueError("the list of tools is malformed")
    return list(tools), following


def _sound(listed: Any) -> JsonObject | None:
    """A tool as it was listed, None if that isn't a tool."""
    from mcp_types import Tool
    from pydantic import ValidationError

    try:
        return Tool.model_validate(listed).model_dump(mode="json", by_alias=True, exclude_unset=True)
    except ValidationError:
        return None


def _name_of(listed: Any) -> str:
    name: Any = listed.get("name") if is_object(listed) else None
    return name[:128] if isinstance(name, str) else ""


def _why_none(listed: Any) -> str:
    if is_object(listed) and TOO_DEEP in listed:
        return f"it nests deeper than {MAX_DEPTH}"
    return "what is listed is not a tool of the protocol"


def _first(error: BaseException) -> BaseException:
    """What has really happened, of what task groups have wrapped."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _again(error: ServerError) -> ServerError:
    """The same error for another caller: an exception that is raised twice collects both tracebacks."""
    said = str(error.data.get("said", ""))
    again = ServerError(error.message, code=error.code, said=said)
    again.server = error.server
    return again
