"""An API over HTTP as a server of tools: its document is read once, each call is one request, none is made twice.

Where its calls go is said by its user, or by the document within the host that it came from; no redirect is followed,
and what the user gives with every call (`headers`, `query`) goes nowhere else.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import DelegateError, IdeaError, Outcome, SchemaError, ServerError
from ...protocol.context import Progress, is_url, redacted
from ...schema.installing import pip_install
from ...schema.json import JsonObject, NotJson, decode
from ...sources.files import read_text
from ..server import Server
from .contents import is_json
from .document import Document, scheme_and_host
from .http_requests import Request, Unsendable, request_of
from .operations import HTTP, ListedOperations, listed_operations
from .parameters import AlwaysSent

if TYPE_CHECKING:
    from ...sources.http_client import Answer, Client

_TEXTS = ("text/", "application/xml", "application/javascript", "application/yaml")


class Unreadable(Exception):
    """An answer that isn't what it says that it is, or not what was promised."""


def answer_result(media_type: str, content: bytes, *, is_declared: bool) -> JsonObject:
    """The result of a call that went well; `is_declared` says whether its operation promises data.

    Raises:
        Unreadable: it isn't there, or can't be read.
    """
    kind = media_type.partition(";")[0].strip().lower()
    if not content:
        return {"content": [], "structuredContent": None}
    if is_json(kind) or (is_declared and kind in {"", "text/plain"}):
        try:
            return {"content": [], "structuredContent": decode(content.decode())}
        except (NotJson, UnicodeDecodeError):
            raise Unreadable from None
    if is_declared:
        raise Unreadable
    return {"content": [_block(kind, content)]}


def _block(kind: str, content: bytes) -> JsonObject:
    if kind.startswith(_TEXTS) or kind.endswith("+xml") or not kind:
        return {"type": "text", "text": content.decode(errors="replace")}
    data = b64encode(content).decode()
    if kind.startswith(("image/", "audio/")):
        return {"type": kind.partition("/")[0], "data": data, "mimeType": kind}
    return {"type": "resource", "resource": {"mimeType": kind, "blob": data}}


_MOST_OPERATIONS = 1_000
_MOST_SAID = 4_000
_UNANSWERED: dict[int, Outcome] = {502: "unknown", 504: "unknown"}
"""What a gateway says that has handed a call on and has heard nothing that it could use."""


@dataclass(eq=False)
class Api:
    """The API of one document, as `Connection` is one MCP server; `own` is what its task does."""

    server: Server
    found: ListedOperations = field(default_factory=ListedOperations)
    starts: int = 0
    """Whether its document has been read."""
    _base: str = ""
    _client: Client | None = None
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def listed(self) -> dict[str, JsonObject]:
        """Its operations by name, as an MCP server would list them."""
        return self.found.tools

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """The operations that can't be offered, and why."""
        return self.found.left_out

    async def own(self) -> None:
        """Keep its connections until it is closed."""
        try:
            await self._over.wait()
        finally:
            if self._client is not None:
                await self._client.aclose()

    def close(self) -> None:
        """Let its connections end."""
        self._over.set()

    async def ready(self) -> None:
        """Read its document.

        Raises:
            ServerError: it can't be read, or says nothing that can be used.
        """
        try:
            async with asyncio.timeout(self.server.start_timeout):
                text, found_at = await self._text()
                await asyncio.to_thread(self._take, text, found_at)
            # An address that a document names is its author's word: only the user's own may be a private one.
            self._client = await self._checked(self._base, is_given=self.server.url is not None or found_at is not None)
        except TimeoutError:
            raise self._error(
                f"did not give its document within {self.server.start_timeout:g} seconds", "server_start"
            ) from None
        except SchemaError as error:
            raise self._error(f"can't be used: its document is wrong: {error.message}", "server_start") from None
        except DelegateError as error:
            raise self._error(f"can't be reached: {error.message}", "server_start") from None
        except IdeaError as error:
            raise self._error(f"can't be used: {error.message}", "server_start") from None
        self.starts += 1

    async def call(
        self, tool: str, arguments: JsonObject, expected: JsonObject | None = None, progress: Progress | None = None
    ) -> JsonObject:
        """Make one call of an operation, once; return what came of it as an MCP server would tell it.

        Raises:
            ServerError: it wasn't made, failed, took too long, or what became of it isn't known.
        """
        if self._client is None or self._over.is_set():
            raise self._error("is not connected any more", outcome="not made")
        own = self.listed[tool]
        try:
            request = request_of(own["_meta"][HTTP], self._base, self.server.query, arguments)
            async with asyncio.timeout(self.server.timeout):
                answer = await self._answer(self._client, request)
            return self._result(answer, own)
        except Unsendable as error:
            raise self._error(f"was not asked: {error}", outcome="not made") from None
        except TimeoutError:
            why = f"took longer than {self.server.timeout:g} seconds; the call was cancelled"
            raise self._error(why, outcome="unknown") from None
        except Unreadable:
            why = "has sent what can't be read, or not the data that this operation promises"
            raise self._error(why, outcome="unusable") from None

    async def _answer(self, client: Client, request: Request) -> Answer:
        from ...sources.http_client import LOST, UNASKED, UNREACHED

        try:
            return await client.request(
                request.method, request.url, headers=dict(request.headers), content=request.content
            )
        except UNASKED:
            raise Unsendable("its address is malformed or too long") from None
        except UNREACHED as error:
            why = "can't be reached: the call was not made"
            raise self._error(why, "server_lost", said=str(error), outcome="not made") from error
        except LOST as error:
            why = "was lost during the call: whether it was carried out is not known"
            raise self._error(why, "server_lost", said=str(error), outcome="unknown") from error

    def _result(self, answer: Answer, own: JsonObject) -> JsonObject:
        if not 200 <= answer.status_code < 300:
            said = answer.content[: 4 * _MOST_SAID].decode(errors="replace")[:_MOST_SAID]
            outcome = _UNANSWERED.get(answer.status_code)
            raise self._error(f"answers with {answer.status_code}", said=said, outcome=outcome)
        media_type: str = answer.headers.get("content-type", "")
        return answer_result(media_type, answer.content, is_declared="outputSchema" in own)

    async def _text(self) -> tuple[str, str | None]:
        """The text of the document, and its address where it has one."""
        source = self.server.openapi or ""
        if not is_url(source):
            return await asyncio.to_thread(read_text, Path(source)), None
        from ...sources.http_client import LOST, UNASKED

        async with await self._checked(source, has_given=self._is_own(source)) as client:
            try:
                answer = await client.get(source, headers={"accept": "application/json, application/yaml, */*;q=0.5"})
            except UNASKED:
                raise self._error("can't be used: the address of its document is malformed", "server_config") from None
            except LOST as error:
                raise self._error("can't be reached", "server_start", said=str(error)) from error
        if answer.status_code != 200:
            raise self._error(f"answers with {answer.status_code} instead of its document", "server_start")
        try:
            return answer.content.decode(), source
        except UnicodeDecodeError:
            raise SchemaError("it is not UTF-8") from None

    def _is_own(self, source: str) -> bool:
        """Whether the document is at the host that calls go to, which what is given with every call is for."""
        try:
            return self.server.url is None or scheme_and_host(self.server.url) == scheme_and_host(source)
        except SchemaError:
            raise self._error(
                "can't be used: its url, or that of its document, is not an address", "server_config"
            ) from None

    def _take(self, text: str, found_at: str | None) -> None:
        document = Document.parse(text)
        self._base = self.server.url or document.base(found_at)
        headers = frozenset(name.lower() for name in self.server.headers)
        hidden = AlwaysSent(headers=headers, query=frozenset(self.server.query))
        self.found = listed_operations(document, self.server.offers, hidden, _MOST_OPERATIONS, self.server.most_bytes)
        for one in self.listed.values():
            one["_meta"][HTTP]["at"] = redacted(self._base)

    async def _checked(self, url: str, *, has_given: bool = True, is_given: bool = True) -> Client:
        """A client for an address that may be called, `has_given` with what goes with every call.

        `is_given`: it is the user who has named the host.
        """
        try:
            from ...sources.http_client import check_address, judged_client
        except ModuleNotFoundError:
            raise self._error(f"needs an extra: {pip_install('http')}", "server_config") from None
        own = self.server
        headers = own.headers if has_given else dict[str, str]()
        hosts, most = own.allow_hosts, own.most_bytes
        await check_address(url, hosts, trusts_written=is_given)
        return judged_client(url, headers=headers, allow_hosts=hosts, most_bytes=most, trusts_written=is_given)

    def _error(self, reason: str, code: str = "server", said: str = "", outcome: Outcome | None = None) -> ServerError:
        own = self.server
        return ServerError(reason, server=own.name, code=code, said=said, kind=own.kind, outcome=outcome)
