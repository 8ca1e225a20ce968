"""An API over HTTP as a server of tools: its document is read once; each call is one request, and none is repeated.

Its user says where calls go, or the document does, but only within its own host; no redirect is followed, and what
the user sends with every call (`headers`, `query`) goes nowhere else.
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
    """An answer that isn't of its media type, or lacks the data that was promised."""


def answer_result(media_type: str, content: bytes, *, is_declared: bool) -> JsonObject:
    """The result of a successful call; `is_declared` says whether its operation promises data.

    Raises:
        Unreadable: the data is missing, or can't be read.
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
"""Statuses of a gateway that has handed a call on, and got no usable answer."""


@dataclass(eq=False)
class Api:
    """The API of a document, with the methods of a `Connection`. Its task runs `own`."""

    server: Server
    operations: ListedOperations = field(default_factory=ListedOperations)
    starts: int = 0
    """Whether its document has been read."""
    _base: str = ""
    _client: Client | None = None
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def listed(self) -> dict[str, JsonObject]:
        """Its operations by name, as an MCP server would list them."""
        return self.operations.tools

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """The operations that can't be offered, and why."""
        return self.operations.left_out

    async def own(self) -> None:
        """Keep its connections open until it is closed."""
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
            ServerError: it can't be read or used.
        """
        try:
            async with asyncio.timeout(self.server.start_timeout):
                text, source = await self._text()
                await asyncio.to_thread(self._read, text, source)
            # Only the user may name a private address: an address in a document may be anybody's.
            self._client = await self._open(self._base, is_written=self.server.url is not None or source is not None)
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
        """Make one call of an operation, once; return its result in the form of an MCP server's.

        Raises:
            ServerError: the call wasn't made, failed, took too long, or its outcome isn't known.
        """
        if self._client is None or self._over.is_set():
            raise self._error("is not connected any more", outcome="not made")
        operation = self.listed[tool]
        try:
            request = request_of(operation["_meta"][HTTP], self._base, self.server.query, arguments)
            async with asyncio.timeout(self.server.timeout):
                answer = await self._answer(self._client, request)
            return self._result(answer, operation)
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

    def _result(self, answer: Answer, operation: JsonObject) -> JsonObject:
        if not 200 <= answer.status_code < 300:
            text = answer.content[: 4 * _MOST_SAID].decode(errors="replace")[:_MOST_SAID]
            outcome = _UNANSWERED.get(answer.status_code)
            raise self._error(f"answers with {answer.status_code}", said=text, outcome=outcome)
        media_type: str = answer.headers.get("content-type", "")
        return answer_result(media_type, answer.content, is_declared="outputSchema" in operation)

    async def _text(self) -> tuple[str, str | None]:
        """The text of the document, and its address if it has one."""
        address = self.server.openapi or ""
        if not is_url(address):
            return await asyncio.to_thread(read_text, Path(address)), None
        from ...sources.http_client import LOST, UNASKED

        async with await self._open(address, sends_secrets=self._is_same_host(address)) as client:
            try:
                answer = await client.get(address, headers={"accept": "application/json, application/yaml, */*;q=0.5"})
            except UNASKED:
                raise self._error("can't be used: the address of its document is malformed", "server_config") from None
            except LOST as error:
                raise self._error("can't be reached", "server_start", said=str(error)) from error
        if answer.status_code != 200:
            raise self._error(f"answers with {answer.status_code} instead of its document", "server_start")
        try:
            return answer.content.decode(), address
        except UnicodeDecodeError:
            raise SchemaError("it is not UTF-8") from None

    def _is_same_host(self, address: str) -> bool:
        """Whether the document is at the host that calls go to, and may so be sent `headers` and `query`."""
        try:
            return self.server.url is None or scheme_and_host(self.server.url) == scheme_and_host(address)
        except SchemaError:
            raise self._error(
                "can't be used: its url, or that of its document, is not an address", "server_config"
            ) from None

    def _read(self, text: str, source: str | None) -> None:
        document, server = Document.parse(text), self.server
        self._base = server.url or document.base(source)
        hidden = AlwaysSent(headers=frozenset(map(str.lower, server.headers)), query=frozenset(server.query))
        self.operations = listed_operations(document, server.offers, hidden, _MOST_OPERATIONS, server.most_bytes)
        for tool in self.listed.values():
            tool["_meta"][HTTP]["at"] = redacted(self._base)

    async def _open(self, url: str, *, sends_secrets: bool = True, is_written: bool = True) -> Client:
        """A client for an address, which is checked first; with `sends_secrets`, it sends the server's headers.

        `is_written`: the user has written the host down.
        """
        try:
            from ...sources.http_client import check_address, judged_client
        except ModuleNotFoundError:
            raise self._error(f"needs an extra: {pip_install('http')}", "server_config") from None
        server = self.server
        headers = server.headers if sends_secrets else dict[str, str]()
        hosts, most = server.allow_hosts, server.most_bytes
        await check_address(url, hosts, trusts_written=is_written)
        return judged_client(url, headers=headers, allow_hosts=hosts, most_bytes=most, trusts_written=is_written)

    def _error(self, reason: str, code: str = "server", said: str = "", outcome: Outcome | None = None) -> ServerError:
        server = self.server
        return ServerError(reason, server=server.name, code=code, said=said, kind=server.kind, outcome=outcome)
