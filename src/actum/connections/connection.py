"""The connection to one server: one task enters and leaves the client; calls come from any task.

When an HTTP server dies, the task that has entered its client is cancelled, and no other task may leave it: so a run's
task never enters one. The next call starts a dead server again; no call is ever made twice.
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
from ..protocol.activity import error_text
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
"""How the SDK's errors for closed HTTP connections begin; servers use their code, too."""
_UNREAD = ("Failed to parse SSE message", "Failed to parse JSON response")
"""How its errors for unreadable HTTP answers begin."""
_MOST_PAGES = 100
_MOST_TOOLS = 1_000
_MOST_FAILURES = 3
"""How often in a row a server may fail to start before calls are refused at once."""


@dataclass(slots=True, eq=False)
class _Start:
    """One attempt to start a server, shared by all calls that wait for it."""

    done: asyncio.Event = field(default_factory=asyncio.Event)
    client: Client | None = None
    failure: ServerError | None = None


@dataclass(eq=False)
class Connection:
    """A server that is not started yet, ready, or closed. Its task runs `own`."""

    server: Server
    environment: Mapping[str, str]
    listed: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Its tools by name, as they were listed when it was last started."""
    left_out: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Listed tools that can't be offered: the name, empty if there is none, and why."""
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
        """Start the server whenever it is needed, keep it running, and end it; until the connection is closed."""
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
        """The client of the server, which is started if it isn't running.

        Raises:
            ServerError: it can't be started, or the connection is closed.
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
            failure = start.failure
            raise self._error("is not connected any more") if failure is None else _copy_of(failure)
        return start.client

    async def call(
        self, tool: str, arguments: JsonObject, expected: JsonObject | None = None, progress: Progress | None = None
    ) -> JsonObject:
        """Make one call of a tool, once; return the result as it was sent.

        Args:
            tool: its name on the server.
            arguments: the parameters by name.
            expected: the tool as it was offered; if it has changed since, it isn't called.
            progress: is told the progress of the call.

        Raises:
            ServerError: the call wasn't made, failed, took too long, or its outcome isn't known.
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
                result = await _send_call(client, tool, arguments, progress)
        except TimeoutError:
            why = f"took longer than {self.server.timeout:g} seconds; the call was cancelled"
            raise self._error(why, outcome="unknown") from None
        except Exception as error:
            raise self._call_error(client, error) from error
        self._failures = 0
        return result

    async def _keep(self, start: _Start) -> None:
        """Start the server for the calls that wait, and keep it running until it ends."""
        self._over.clear()
        self._why, self._is_forgotten = "", False
        self.tail = Tail()
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self.server.start_timeout):
                    client = await self._enter(stack)
                    self.listed, self.left_out = await _list_tools(client, self.server)
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
            start.failure = self._start_error(error)
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
        client.event_hooks = {"response": [self._note_session]}
        return streamable_http_client(url, http_client=await stack.enter_async_context(client), max_sse_event_size=most)

    def _drop(self, method: str) -> None:
        """Count a malformed notification; the first is logged, and then each time that their number has doubled."""
        self._dropped += 1
        if self._dropped.bit_count() == 1:
            summary = f"{printable(method[:_LONGEST_MESSAGE])}, {self._dropped} in all"
            _LOG.warning("the server %r has sent malformed notifications: %s", self.server.name, summary)

    async def _note_session(self, response: Any) -> None:
        request = response.request
        self._is_forgotten |= (
            response.status_code == 404 and request.method == "POST" and "mcp-session-id" in request.headers
        )

    def _ended(self, why: str) -> None:
        """Note that the server has ended, so that the next call starts it again."""
        self._why = self._why or why
        self._client = None
        self._over.set()

    def _call_error(self, client: Client, error: Exception) -> ServerError:
        """The error of a failed call, from whatever the SDK raises."""
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        if isinstance(error, ServerError):
            return error
        code = error.code if isinstance(error, MCPError) else None
        if code == types.INVALID_REQUEST and self._is_forgotten:
            self._drop_client(client)
            return self._error("has forgotten this session; the call was not made", "server_lost", outcome="not made")
        if self.server.url is not None and _is_unreached(error):
            self._drop_client(client)
            return self._error("can't be reached: the call was not made", "server_lost", outcome="not made")
        if isinstance(error, MCPError) and (code == UNREADABLE or str(error).startswith(_UNREAD)):
            why = "has sent an answer that can't be read: the call may have taken effect"
            return self._error(why, outcome="unknown")
        is_closed = code == types.CONNECTION_CLOSED and (self._over.is_set() or str(error).startswith(_CLOSED))
        if is_closed or not isinstance(error, MCPError | ValueError):
            self._drop_client(client)
            why = self._why or "was lost"
            lost = f"{why} during the call: whether it was carried out is not known"
            return self._error(lost, "server_lost", outcome="unknown")
        if code is None:
            return self._error("has sent a result that can't be read", said=error_text(error), outcome="unusable")
        # By these codes, a server says that it hasn't begun the call.
        refusals = (types.INVALID_PARAMS, types.INVALID_REQUEST, types.METHOD_NOT_FOUND, types.PARSE_ERROR)
        outcome = "not made" if code in refusals else "unknown" if code == types.REQUEST_TIMEOUT else None
        return self._error(f"refuses the call (code {code})", said=str(error), outcome=outcome)

    def _drop_client(self, client: Client) -> None:
        if self._client is client or self._client is None:
            self._client = None
            self._over.set()

    def _start_error(self, error: BaseException) -> ServerError:
        """Why the server could not be started; its own output is only shown to people."""
        cause = _root_cause(error)
        if isinstance(cause, ServerError):
            return cause
        if isinstance(cause, DelegateError):
            return self._error(f"can't be reached: {cause.message}", "server_start")
        if isinstance(cause, OSError) and cause.strerror and self.server.url is None:
            return self._error(f"can't be started: {cause.strerror}", "server_start")
        why = self._why or ("can't be reached" if self.server.url is not None else "has ended")
        return self._error(f"{why} before it was ready", "server_start", said=str(self.tail) or error_text(cause))

    def _error(self, reason: str, code: str = "server", said: str = "", outcome: Outcome | None = None) -> ServerError:
        return ServerError(reason, server=self.server.name, code=code, said=said, outcome=outcome)


def _is_unreached(error: BaseException) -> bool:
    """Whether no connection was made, so that nothing was sent."""
    from ..sources.http_client import UNREACHED

    return isinstance(_root_cause(error), UNREACHED)


async def _send_call(client: Client, tool: str, arguments: JsonObject, progress: Progress | None) -> JsonObject:
    """Send one request, once. The SDK's `call_tool` may send it again, and validates results itself."""
    from mcp_types import CallToolRequest, CallToolRequestParams
    from pydantic import TypeAdapter

    request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
    as_sent: Any = TypeAdapter(dict[str, Any])
    on_progress = None if progress is None else _progress_listener(progress)
    result: JsonObject = await client.session.send_request(request, as_sent, progress_callback=on_progress)
    return result


def _progress_listener(report: Progress) -> ProgressFnT:
    async def listener(progress: float, total: float | None, message: str | None) -> None:
        report(progress, total, None if message is None else visible(message[:_LONGEST_MESSAGE]))

    return listener


async def _list_tools(client: Client, server: Server) -> tuple[dict[str, JsonObject], list[tuple[str, str]]]:
    """All tools of a server, the first of each name; and the names of malformed ones, and why they are malformed.

    Raises:
        ServerError: it lists too many.
    """
    tools: dict[str, JsonObject] = {}
    malformed: list[tuple[str, str]] = []
    cursor: str | None = None
    size = 0
    for _ in range(_MOST_PAGES):
        page, cursor = await _page(client, cursor)
        for tool in page:
            parsed = _parsed_tool(tool)
            size += len(encode(tool))
            if parsed is None:
                malformed.append((_name_of(tool), _why_malformed(tool)))
            else:
                tools.setdefault(parsed["name"], parsed)
        if len(tools) + len(malformed) > _MOST_TOOLS or size > server.most_bytes:
            break
        if cursor is None:
            return tools, malformed
    limits = f"more than {_MOST_TOOLS} tools, {_MOST_PAGES} pages or {server.most_bytes} bytes"
    raise ServerError(f"lists {limits}", server=server.name, code="server_start")


async def _page(client: Client, cursor: str | None) -> tuple[list[Any], str | None]:
    """One page of tools. Since the SDK refuses a whole page for one malformed tool, it is then read as it was sent."""
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
    session: Any = client.session  # nothing public returns a result that isn't validated
    session._stamp(data, options)
    raw: JsonObject = await session._dispatcher.send_raw_request(data["method"], data.get("params"), options)
    tools, following = raw.get("tools"), raw.get("nextCursor")
    if not is_list(tools) or not (following is None or isinstance(following, str)):
        raise ValueError("the list of tools is malformed")
    return list(tools), following


def _parsed_tool(listed: Any) -> JsonObject | None:
    """A listed tool, None if it is malformed."""
    from mcp_types import Tool
    from pydantic import ValidationError

    try:
        return Tool.model_validate(listed).model_dump(mode="json", by_alias=True, exclude_unset=True)
    except ValidationError:
        return None


def _name_of(listed: Any) -> str:
    name: Any = listed.get("name") if is_object(listed) else None
    return name[:128] if isinstance(name, str) else ""


def _why_malformed(listed: Any) -> str:
    if is_object(listed) and TOO_DEEP in listed:
        return f"it nests deeper than {MAX_DEPTH}"
    return "what is listed is not a tool of the protocol"


def _root_cause(error: BaseException) -> BaseException:
    """The first error inside the groups that task groups raise."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _copy_of(error: ServerError) -> ServerError:
    """A copy of an error for another caller: an exception that is raised twice collects both tracebacks."""
    text = str(error.data.get("said", ""))
    copy = ServerError(error.message, code=error.code, said=text)
    copy.server = error.server
    return copy
