"""MCP over HTTP, as a part of the server: streamable HTTP at `/mcp`, in both eras of the protocol."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from dataclasses import dataclass, field

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.routing import Route

from .callers import CALLER
from .desk import Desk
from .guard import App, Message, Receive, Scope, Send, one_header
from .mcp_server import Host
from .parts import Part
from .refusals import Refusal

_SESSION = "mcp-session-id"
_VERSION = "mcp-protocol-version"
_MOST_SESSIONS = 1_000
_MOST_OF_CALLER = 100
_IDLE = 300.0
"""How many seconds a session stays open without a request."""
_MOST_BYTES = 16 * 1024 * 1024


def mcp_part(desk: Desk) -> Part:
    """The part that serves MCP hosts. The guard checks Host and Origin before it."""
    manager = StreamableHTTPSessionManager(
        app=Host.of(desk, quota=desk.quota).server(),
        max_sessions=_MOST_SESSIONS,
        max_request_body_size=_MOST_BYTES,
        session_idle_timeout=_IDLE,
    )

    return Part(routes=[Route("/mcp", endpoint=_Sessions(StreamableHTTPASGIApp(manager)))], running=manager.run)


@dataclass(slots=True)
class _Session:
    caller: str
    under_way: int = 0
    used: float = field(default_factory=time.monotonic)

    @property
    def is_open(self) -> bool:
        return self.under_way > 0 or time.monotonic() - self.used < _IDLE


@dataclass(frozen=True, slots=True)
class _Sessions:
    """Limits callers to their own sessions, and to a number of them."""

    app: App
    sessions: MutableMapping[str, _Session] = field(default_factory=dict[str, _Session])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on to its session.

        Raises:
            Refusal: the session is another caller's, or has ended; or the caller has too many.
        """
        caller, headers = scope[CALLER], Headers(scope=scope)
        session_id = one_header(headers, _SESSION)
        if session_id is None:
            if one_header(headers, _VERSION) in (None, *HANDSHAKE_PROTOCOL_VERSIONS):  # the newer era knows no sessions
                self._check_room(caller)
            await self.app(scope, receive, self._note_sessions(caller, send))
            return
        session = self.sessions.get(session_id)
        if session is None or session.caller != caller:
            raise Refusal(404, "session_not_found", "no session of this caller has this id: initialize one")
        session.under_way += 1
        try:
            await self.app(scope, receive, send)
        finally:
            session.under_way -= 1
            session.used = time.monotonic()
            if scope["method"] == "DELETE":
                self.sessions.pop(session_id, None)

    def _check_room(self, caller: str) -> None:
        for ended in [name for name, session in self.sessions.items() if not session.is_open]:
            del self.sessions[ended]
        if sum(session.caller == caller for session in self.sessions.values()) >= _MOST_OF_CALLER:
            why = f"{_MOST_OF_CALLER} sessions are open, as many as a caller may have: end one (DELETE)"
            raise Refusal(429, "too_many_sessions", why, retry=int(_IDLE))

    def _note_sessions(self, caller: str, send: Send) -> Send:
        """A `send` that notes the session that an answer opens."""

        async def sending(message: Message) -> None:
            is_accepted = message["type"] == "http.response.start" and message["status"] < 400
            if is_accepted and (opened := Headers(scope=message).get(_SESSION)) is not None:
                self.sessions[opened] = _Session(caller)
            await send(message)

        return sending
