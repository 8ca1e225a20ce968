"""Replies to a host, and requests to it in the middle of a call, as types of the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import RunError
from ..schema.json import JsonObject, encode, is_object
from .callers import CALLER
from .host_words import progress_text

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.context import ServerRequestContext


async def ask_host(ctx: ServerRequestContext[Any, Any], requests: Mapping[str, Any]) -> dict[str, Any]:
    """The responses of a host of the older era to requests in the middle of a call.

    Raises:
        RunError: it refuses one.
    """
    import mcp_types as types
    from mcp.shared.exceptions import MCPError
    from mcp.shared.message import ServerMessageMetadata

    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    answers: dict[str, Any] = {}
    for key, request in requests.items():
        kind = types.ElicitResult if isinstance(request, types.ElicitRequest) else types.CreateMessageResultWithTools
        try:
            answers[key] = await ctx.session.send_request(request, kind, metadata=related)
        except MCPError as error:
            raise RunError(f"the host refuses what it says that it can do (code {error.code})") from None
    return answers


def input_required(requests: Mapping[str, Any], state: str) -> types.InputRequiredResult:
    """A result with requests; the host calls again with its responses."""
    import mcp_types as types

    return types.InputRequiredResult(input_requests=dict(requests), request_state=state)


def tool_result(value: JsonObject) -> types.CallToolResult:
    """A result as data, and as text for hosts that only know text."""
    import mcp_types as types

    return types.CallToolResult(content=[types.TextContent(text=encode(value))], structured_content=value)


def failed_result(message: str) -> types.CallToolResult:
    """A failed call, with the error for the host's model."""
    import mcp_types as types

    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


@dataclass(slots=True)
class ProgressReport:
    """Reports the progress of a run to a host: one step for each entry of its record."""

    ctx: ServerRequestContext[Any, Any]
    count: int = 0

    async def __call__(self, entry: JsonObject) -> None:
        """Report an entry."""
        self.count += 1
        await self.ctx.session.report_progress(self.count, None, progress_text(entry))


def traceparent_of(ctx: ServerRequestContext[Any, Any]) -> Any:
    """The request's `traceparent`: of the SDK's span, below the one in the host's `_meta`; else of the HTTP header."""
    from ..tracing.otel import current_trace

    headers: Any = getattr(ctx.request, "headers", None) or {}
    return current_trace() or headers.get("traceparent")


def host_caller(ctx: ServerRequestContext[Any, Any]) -> str:
    """The caller: over HTTP the one that the guard let in, else the owner, who has started this process."""
    scope: Any = getattr(ctx.request, "scope", None)
    return str(scope.get(CALLER, "")) if is_object(scope) else ""
