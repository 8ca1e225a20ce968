"""Messages of a server that are replaced or dropped: unreadable answers, and malformed notifications."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from ..schema.json import MAX_DEPTH, encode, is_list, is_object, nests_within

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp_types import JSONRPCMessage

UNREADABLE = -32_768
"""The code of the error that replaces an unreadable answer: a reserved one, which no server uses."""
TOO_DEEP = "tooDeep"
"""The key, beside the name, that marks a listed tool that nests too deep."""
_VERSION = "2025-11-25"
_ID = re.compile(rb'"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]{0,200}")')
_ANSWER = re.compile(rb'"(result|error)"\s*:')


def replacement_for(line: bytes) -> JSONRPCMessage | None:
    """The message in place of a line that can't be read: None if the line isn't a message.

    An answer becomes an error with its id, so that its request ends; a list of tools stays a list, without those that
    nest too deep.
    """
    from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse

    match = _ID.search(line)
    if b'"jsonrpc"' not in line or match is None or not _ANSWER.search(line):
        return None
    message_id = json.loads(match[1])
    tools = _shallow_tools(line)
    if tools is not None:
        return JSONRPCResponse(jsonrpc="2.0", id=message_id, result=tools)
    return JSONRPCError(jsonrpc="2.0", id=message_id, error=ErrorData(code=UNREADABLE, message="it can't be read"))


def shallow(content: bytes) -> bytes:
    """The content of an HTTP answer, or a line of an event; a list of tools without those that nest too deep."""
    if content.count(b"{") + content.count(b"[") <= MAX_DEPTH:
        return content
    from mcp_types import JSONRPCResponse, jsonrpc_message_adapter

    text = content.removeprefix(b"data:")
    try:
        jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        message = replacement_for(text)
        if isinstance(message, JSONRPCResponse):
            end = text[len(text.rstrip()) :]
            return content[: -len(text)] + message.model_dump_json(by_alias=True).encode() + end
    return content


def _shallow_tools(line: bytes) -> dict[str, Any] | None:
    """The list of tools in a line, those that nest too deep without their schemas; None if it is no list of tools."""
    try:
        result = json.loads(line)["result"]
        tools: Any = result["tools"]
        encode(tools).encode()  # fails for lone surrogates
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    if not is_list(tools):
        return None
    shown = [tool if nests_within(tool, MAX_DEPTH) else {"name": _name_in(tool), TOO_DEEP: True} for tool in tools]
    return {**{key: value for key, value in result.items() if nests_within(value, 1)}, "tools": shown}


def _name_in(tool: Any) -> Any:
    return tool.get("name") if is_object(tool) else None


@asynccontextmanager
async def sifted(
    transport: AbstractAsyncContextManager[TransportStreams], dropped: Callable[[str], None]
) -> AsyncGenerator[TransportStreams]:
    """A transport without malformed notifications; `dropped` is called with the method of each."""
    import anyio
    from mcp.shared.message import SessionMessage

    async with transport as (incoming, outgoing), anyio.create_task_group() as tasks:
        sender, receiver = anyio.create_memory_object_stream["SessionMessage | Exception"](0)

        async def pass_on() -> None:
            async with sender:
                async for item in incoming:
                    if isinstance(item, SessionMessage) and (method := _malformed(item.message)) is not None:
                        dropped(method)
                        continue
                    try:
                        await sender.send(item)
                    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                        return

        async with receiver:
            tasks.start_soon(pass_on)
            yield receiver, outgoing
            tasks.cancel_scope.cancel()


def _malformed(message: JSONRPCMessage) -> str | None:
    """The method of a notification that doesn't fit the protocol, None for anything else."""
    from mcp_types import JSONRPCNotification
    from mcp_types.methods import parse_server_notification
    from pydantic import ValidationError

    if not isinstance(message, JSONRPCNotification):
        return None
    try:
        parse_server_notification(message.method, _VERSION, message.params)
    except ValidationError:
        return message.method
    except KeyError:
        return None
    return None
