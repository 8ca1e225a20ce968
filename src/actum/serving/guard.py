"""`Guard`: the ASGI middleware before everything that is served: it checks who asks, from where, and for how much.

What it refuses never reaches an application: other hosts (DNS rebinding, 421), other origins (403), callers without a
token (401) or with too many requests (429), bodies of other types (a form needs no preflight, 415), and bodies that are
too large or hold too much (413), or come too slowly (408). A refusal ends its connection, so nobody holds one by
sending what nobody reads. A body is read and measured before the application is called and before anybody parses it.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response

from ..schema.json import MAX_DEPTH
from .callers import CALLER, LOOPBACK, MOST_BYTES, Callers
from .refusals import Refusal, error_body

CONTAINER = 4
"""How many values a list or an object counts as, since it costs more than a number."""
_LOOSE = bytes(set(range(256)) - set(b"[]{},"))
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class JsonMeter:
    """Counts the values of a JSON text and how deep it nests; for other texts the counts are upper bounds."""

    def __init__(self) -> None:
        self.values = 1
        self.depth = 0
        self._now = 0
        self._is_string = False
        self._is_escaped = False

    def take(self, piece: bytes) -> None:
        """Measure the next piece."""
        bare = _ESCAPED.sub(b"", piece[1:] if self._is_escaped else piece)
        self._is_escaped = bare.endswith(b"\\")
        sides = bare.split(b'"')
        outside = b"".join(sides[self._is_string :: 2]).translate(None, _LOOSE)
        self._is_string ^= len(sides) % 2 == 0
        brackets = outside.translate(None, b",")
        self.values += len(outside) - len(brackets)
        for bracket in brackets:
            self._now += _STEP[bracket]
            self.depth = max(self.depth, self._now)
            self.values += CONTAINER if _STEP[bracket] > 0 else 0


Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = frozenset({"/health"})
"""Paths that need no token, and reveal nothing."""
FORMS = ("/studio/",)
"""Where pages of the server's own origin may post forms to."""
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]{1,5})?")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_GRACE = 5.0
"""Seconds after which the least rate of a body is enforced."""
_LEAST_RATE = 1_024
"""How many bytes of a body have to arrive in a second, on average."""
_PIECE = 64 * 1024
"""How many bytes of a body are measured at once, and of an answer handed to a connection: what its peer doesn't take
isn't buffered there."""
MOST_VALUES = 20_000
"""How many values a JSON body may hold: more would hold up the loop for other callers."""
_NO_CACHE = {"cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Hands a request on to `app` if its host, its origin, its token and its body are in order.

    `hosts` are the names under which this server is asked, each with its port, or without: then any port is meant.
    `origins` are pages of other hosts that may call it (CORS), for example `http://localhost:5173`. `most` bounds a
    body in bytes, `patience` how many seconds it may take to arrive, and a piece of an answer to be taken.
    """

    app: App
    callers: Callers
    hosts: Sequence[str] = LOOPBACK
    origins: Sequence[str] = ()
    most: int = MOST_BYTES
    patience: float = 30.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        origin = one_header(headers, "origin")
        answer = _with_headers(self._bounded(scope, send), self._shared_headers(origin))
        try:
            await self._dispatch(scope, headers, origin, receive, answer)
        except Refusal as refusal:
            await _refusal_response(refusal)(scope, receive, answer)
        except NotTaken as error:
            error.__traceback__ = error.__context__ = None  # frees the answer: the application keeps the error
            if error.refusal is not None:
                await _refusal_response(error.refusal)(scope, receive, answer)
            # else the server closes the connection, since the answer isn't complete

    def _bounded(self, scope: Scope, send: Send) -> Send:
        """A `send` that gives up on clients that stop reading, or haven't read earlier answers."""

        async def sending(message: Message) -> None:
            size = (
                _content_length(message) if message["type"] == "http.response.start" else len(message.get("body", b""))
            )
            caller = scope.get(CALLER)
            if caller is None or size <= _PIECE:
                await self._send_in_pieces(message, send)
                return
            try:
                with self.callers.holding(caller, size):
                    await self._send_in_pieces(message, send)
            except Refusal as refusal:  # a stream ends in the middle: the client can resume it
                raise NotTaken(refusal if message["type"] == "http.response.start" else None) from None

        return sending

    async def _send_in_pieces(self, message: Message, send: Send) -> None:
        for piece in _pieces(message):
            try:
                async with asyncio.timeout(self.patience):
                    await send(piece)
            except TimeoutError:
                raise NotTaken(None) from None

    async def _dispatch(self, scope: Scope, headers: Headers, origin: str | None, receive: Receive, send: Send) -> None:
        host = self._host(headers)
        self._check_origin(scope, headers, origin, host)
        if scope["method"] == "OPTIONS" and origin in self.origins:
            await _preflight(headers)(scope, receive, send)
            return
        if scope["path"] not in OPEN:
            if (redirect := self._token_redirect(scope, host)) is not None:
                await redirect(scope, receive, send)
                return
            scope[CALLER] = caller = self._caller(scope, headers, host)
            self.callers.count(caller)
            with self.callers.asking(caller):
                await self._let_in(scope, headers, receive, send)
        else:
            await self._let_in(scope, headers, receive, send)

    async def _let_in(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        if scope["method"] in _WITH_BODY:
            self._check_type(scope, headers)
            receive = await self._body(headers, receive, None if self._is_form(scope, headers) else JsonMeter())
        await self.app(scope, receive, send)

    def _shared_headers(self, origin: str | None) -> Mapping[str, str]:
        """The headers of every answer."""
        if origin not in self.origins:
            return _NO_CACHE
        return {**_NO_CACHE, "access-control-allow-origin": str(origin), "vary": "origin"}

    def _host(self, headers: Headers) -> str:
        """The Host that was asked: a single one, and one of the server's own."""
        host = (one_header(headers, "host") or "").lower()
        match, hosts = _HOST.fullmatch(host), {*map(str.lower, self.hosts)}
        if match is None or not {host, match["name"]} & hosts:
            raise Refusal(421, "host", "this server doesn't answer to that name; --host-name adds one")
        return host

    def _check_origin(self, scope: Scope, headers: Headers, origin: str | None, host: str) -> None:
        """Refuse pages of other origins, and of none (`null`).

        A page of `https` may have been asked for under `http` here, behind a proxy that doesn't say so; never the
        other way round.
        """
        if origin is None and not headers.getlist("origin"):
            return
        same_site = {f"{scheme}://{host}" for scheme in ("https", scope.get("scheme", "http"))}
        if origin is None or (origin not in self.origins and origin.lower() not in same_site):
            raise Refusal(403, "origin", "pages of other origins may not call this server; --origin allows one")

    def _token_redirect(self, scope: Scope, host: str) -> Response | None:
        """The redirect of a browser that brings its token in the URL, with the cookie that replaces the token."""
        if scope["method"] != "GET" or b"token=" not in scope["query_string"]:
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if not tokens:
            return None
        if (caller := self.callers.of_token(tokens[0])) is None:
            raise _no_token()
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + quote(scope["path"].lstrip("/\\"))  # `//host` would lead elsewhere
        cookie = f"{_cookie_name(host)}={self.callers.session(caller)}; Path=/; HttpOnly; SameSite=Strict"
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        return RedirectResponse(f"{path}?{rest}" if rest else path, 303, {"set-cookie": cookie + secure})

    def _caller(self, scope: Scope, headers: Headers, host: str) -> str:
        """The name of the caller, by the token or, for the server's own pages, by the cookie of the browser."""
        authorization = one_header(headers, "authorization") or ""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer" and (caller := self.callers.of_token(token.strip())) is not None:
            return caller
        cookie = cookie_parser(";".join(headers.getlist("cookie"))).get(_cookie_name(host))
        caller = None if authorization or cookie is None else self.callers.of_session(cookie)
        if caller is None:
            raise _no_token()
        self._check_own_page(scope, headers)
        return caller

    @staticmethod
    def _check_own_page(scope: Scope, headers: Headers) -> None:
        """Refuse requests that a page of another port makes with this server's cookie: cookies ignore ports."""
        site, is_safe = one_header(headers, "sec-fetch-site"), scope["method"] in _SAFE
        is_visit = is_safe and one_header(headers, "sec-fetch-mode") == "navigate"
        if site not in {None, "same-origin", "none"} and not is_visit:
            raise Refusal(403, "origin", "a page of another origin may not use this page's cookie")
        if not is_safe and one_header(headers, "origin") is None and site is None:
            raise Refusal(403, "origin", "what changes something needs an Origin, or a token")

    def _check_type(self, scope: Scope, headers: Headers) -> None:
        size = one_header(headers, "content-length") or "0"
        is_empty = not _kind(headers) and size == "0" and not headers.getlist("transfer-encoding")
        if _kind(headers) != "application/json" and not self._is_form(scope, headers) and not is_empty:
            raise Refusal(415, "content_type", "the body must be application/json")

    def _is_form(self, scope: Scope, headers: Headers) -> bool:
        is_own = scope["path"].startswith(FORMS) and one_header(headers, "origin") is not None
        return is_own and _kind(headers) in _FORM_TYPES

    async def _body(self, headers: Headers, receive: Receive, meter: JsonMeter | None) -> Receive:
        """The whole body, read before the application is called, and measured if it is JSON."""
        announced = one_header(headers, "content-length") or "0"
        if not announced.isdigit() or len(announced) > 18 or int(announced) > self.most:
            raise _too_large(self.most)
        body, size, refusal = bytearray(), 0, None
        now = asyncio.get_running_loop().time
        owed = now() + _GRACE
        try:
            async with asyncio.timeout(self.patience):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        break  # the client has left
                    piece = message.get("body", b"")
                    size += len(piece)
                    if size > self.most:
                        raise _too_large(self.most)
                    if refusal is None:
                        body += piece
                        refusal = None if meter is None else _complaint(meter, piece)
                    if not message.get("more_body", False):
                        break
                    if size < (now() - owed) * _LEAST_RATE:
                        raise TimeoutError
        except TimeoutError:
            raise Refusal(408, "slow_body", "the body took too long to arrive") from None
        if refusal is not None:  # only now: a client that is still sending wouldn't read it
            raise refusal
        first: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replayed() -> Message:
            return first.pop() if first else await receive()

        return replayed


def one_header(headers: Headers, name: str) -> str | None:
    """The value of a header; None if it is missing or comes several times."""
    values = headers.getlist(name)
    return values[0].strip() if len(values) == 1 else None


def _kind(headers: Headers) -> str:
    return (one_header(headers, "content-type") or "").partition(";")[0].strip().lower()


def _complaint(meter: JsonMeter, piece: bytes) -> Refusal | None:
    """The refusal of a body that continues with this piece, None as long as it is small enough."""
    for begin in range(0, len(piece), _PIECE):
        meter.take(piece[begin : begin + _PIECE])
        if meter.values > MOST_VALUES:
            why = f"the body holds more than {MOST_VALUES} values (a list or an object counts as {CONTAINER})"
            return Refusal(413, "too_many_values", why)
        if meter.depth > MAX_DEPTH:
            return Refusal(400, "json", f"the body is not JSON: nests deeper than {MAX_DEPTH}")
    return None


class NotTaken(Exception):
    """The client has stopped reading the answer, or hasn't read earlier ones; then `refusal` tells it so."""

    def __init__(self, refusal: Refusal | None) -> None:
        self.refusal = refusal


def _content_length(message: Message) -> int:
    """The content length that an answer announces; 0 if it announces none."""
    return int(Headers(scope=message).get("content-length", "0"))


def _pieces(message: Message) -> Iterator[Message]:
    """A message of an answer, split into pieces of at most `_PIECE` bytes."""
    body = message.get("body", b"")
    if len(body) <= _PIECE:
        yield message
        return
    for begin in range(0, len(body), _PIECE):
        has_more = begin + _PIECE < len(body) or message.get("more_body", False)
        yield {**message, "body": body[begin : begin + _PIECE], "more_body": has_more}


def _cookie_name(host: str) -> str:
    """The name of the cookie, with a hash of the host and port, since servers of one machine share their cookies."""
    return f"actum-{hashlib.sha256(host.encode('latin-1')).hexdigest()[:8]}"


def _no_token() -> Refusal:
    challenge = (("www-authenticate", "Bearer"),)
    return Refusal(401, "token", "the token is missing or wrong: send Authorization: Bearer TOKEN", headers=challenge)


def _too_large(most: int) -> Refusal:
    return Refusal(413, "body", f"the body is larger than {most} bytes")


def _with_headers(send: Send, shared: Mapping[str, str]) -> Send:
    """A `send` that adds headers that the application hasn't set."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in shared.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _refusal_response(refusal: Refusal) -> Response:
    headers = {"connection": "close", **dict(refusal.headers)}
    return JSONResponse(error_body(refusal), refusal.status, headers)


def _preflight(headers: Headers) -> Response:
    """The answer to a CORS preflight; `_shared_headers` says which pages are allowed."""
    allowed = {
        "access-control-allow-methods": "GET, POST, DELETE",
        "access-control-allow-headers": one_header(headers, "access-control-request-headers") or "",
        "access-control-max-age": "600",
    }
    return Response(status_code=204, headers=allowed)
