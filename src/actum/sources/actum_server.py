"""Runs on another Actum server, over HTTP: begun once, followed across lost connections, cancelled with the call.

Its answers are from outside: only an output, a state, counts and codes of them are used.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from ..errors import DelegateError, DelegateForbidden, DelegateNotFound, Outcome, PlanFailed, PlanLeft
from ..protocol.context import redacted
from ..schema.json import JsonObject, NotJson, decode, encode, is_object

if TYPE_CHECKING:
    from .http_client import ServerSent

SCHEMES = ("actum+https://", "actum+http://")
"""The schemes in the address of an Idea that another server runs: `actum+https://HOST/NAME`."""
_AGAIN, _LONGEST_PAUSE = 0.2, 5.0
"""The first and the longest pause in seconds before the server is asked again."""
_PATIENCE = 60.0
"""Seconds for which the server may be away before the call fails."""
_SILENCE = 45.0
"""Seconds without data, pings included, after which a connection counts as lost."""
_FAREWELL = 5.0
"""Seconds that a cancelled call may take to cancel its run."""
_MOST_BEGUN = 20
"""How often a run is begun anew that a former owner of the call cancelled."""
_CODE = re.compile(r"[a-z][a-z_]{0,39}")
_TO_THE_END = {"until": "over"}
_UNSENT: Outcome = "not made"
_OVER = frozenset({"done", "failed", "cancelled"})


class Away(Exception):
    """The server can't answer now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRun:
    """The outcome of a run on another server: its output, or the code of its failure. `usage` is as the server says."""

    output: Any
    usage: JsonObject
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """An Idea at an address. `token` is for its host; `allow_hosts` are those whose addresses may be private (D12)."""

    address: str
    token: str | None
    allow_hosts: Collection[str]
    most_bytes: int
    patience: float = _PATIENCE

    @property
    def base(self) -> str:
        """The URL of the server.

        Raises:
            DelegateForbidden: it isn't an address, or isn't safe: without encryption, only allowed hosts are called.
        """
        parts = urlsplit(self.address.removeprefix("actum+"))
        if not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment or not self.name:
            raise DelegateForbidden(f"{redacted(self.address)!r} is not an address like actum+https://host/name")
        allowed = {host.lower().rstrip(".") for host in self.allow_hosts}
        if parts.scheme != "https" and allowed.isdisjoint({parts.hostname.lower(), parts.netloc.lower()}):
            raise DelegateForbidden(f"{redacted(self.address)!r}: without https only hosts in allow_hosts are called")
        return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').rpartition('/')[0]}"

    @property
    def name(self) -> str:
        """The name of the Idea there."""
        return urlsplit(self.address).path.rstrip("/").rpartition("/")[2]

    async def interface(self) -> JsonObject:
        """The Idea's interface, as the server describes it."""
        await self._check_address()
        return await self._request("GET", f"/ideas/{quote(self.name, safe='')}")

    async def run(
        self, key: str, body: JsonObject, *, traceparent: str = "", waits: Callable[[str], None] | None = None
    ) -> RemoteRun:
        """Run the Idea there, once for each key; `waits` receives the id of a run that waits for a decision.

        If this call is cancelled, so is the run. A run that a former owner of the call cancelled begins anew.

        Raises:
            DelegateError: the server can't be reached or refuses.
        """
        await self._check_address()
        for number in range(_MOST_BEGUN):
            run_id = key if number == 0 else f"{key}-{number}"
            headers = {"traceparent": traceparent} if traceparent else {}
            run = await self._request("POST", "/runs", {**body, "idea": self.name, "id": run_id}, headers)
            if run.get("state") != "cancelled":
                return await self._wait_for(run_id, waits)
        raise DelegateError("its runs are cancelled there again and again")

    async def _check_address(self) -> None:
        """Refuse an address that may not be called, before any retries; raises as `run`."""
        from .http_client import check_address

        await check_address(self.base, self.allow_hosts, trusts_written=False)

    async def _wait_for(self, run: str, waits: Callable[[str], None] | None) -> RemoteRun:
        try:
            row = await self._follow(run, waits)
        except DelegateError as error:
            error.outcome = "unknown"  # the run has begun
            raise
        except asyncio.CancelledError:
            with suppress(DelegateError, Away, TimeoutError):
                async with asyncio.timeout(_FAREWELL):
                    await self._request("POST", f"/runs/{run}/cancel", {})
            raise
        usage = row.get("usage")
        spent = usage if is_object(usage) else {}
        if row["state"] == "done":
            return RemoteRun(output=row.get("output"), usage=spent)
        code = _cause(row["error"]) if is_object(row.get("error")) else "cancelled"
        return RemoteRun(output=None, usage=spent, failure=code if _CODE.fullmatch(code) else "failed")

    async def _follow(self, run: str, waits: Callable[[str], None] | None) -> JsonObject:
        """Follow a run until it has ended, resuming after the last event if the connection is lost."""
        from .http_client import LOST, NO_EVENTS

        after, pause, heard_at = "", _AGAIN, time.monotonic()
        while True:
            try:
                async with aclosing(self._events(run, after)) as events:
                    async for event in events:
                        pause, heard_at = _AGAIN, time.monotonic()
                        after = event.id or after
                        row = _object(event.data.encode(), is_row=True) if event.event == "state" else None
                        if row is not None and row["state"] in _OVER:
                            return row
                        if row is not None and row["state"] == "waiting" and waits is not None:
                            waits(run)
            except NO_EVENTS:
                raise DelegateError(f"it sends no events, or one that is larger than {self.most_bytes} bytes") from None
            except (*LOST, Away):
                pass
            if time.monotonic() - heard_at > self.patience:
                raise DelegateError("the server can't be reached any more")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _events(self, run: str, after: str) -> AsyncGenerator[ServerSent]:
        """The events of a run after another, while the connection lasts; the run's `state` if there are no more."""
        from .http_client import Events, ServerSent

        headers = {"last-event-id": after} if after else {}
        path = f"{self.base}/runs/{run}/events"
        async with (
            self._client() as client,
            client.stream("GET", path, params=_TO_THE_END, headers=headers, timeout=_SILENCE) as answer,
        ):
            await self._check_status(answer)
            if answer.status_code == 204:
                yield ServerSent("state", encode(await self._request("GET", f"/runs/{run}")))
                return
            async for event in Events(answer, self.most_bytes):
                yield event

    async def _request(
        self, method: str, path: str, body: JsonObject | None = None, headers: Mapping[str, str] | None = None
    ) -> JsonObject:
        """The server's answer; asked again while the server is away, since every request may be sent twice."""
        from .http_client import LOST, UNREACHED

        began, pause, outcome = time.monotonic(), _AGAIN, _UNSENT
        content = None if body is None else encode(body).encode()
        content_type = {} if body is None else {"content-type": "application/json"}
        while True:
            try:
                async with asyncio.timeout(_SILENCE), self._client() as client:
                    url = f"{self.base}{path}"
                    answer = await client.request(
                        method, url, content=content, headers={**content_type, **(headers or {})}
                    )
                    await self._check_status(answer)
                    return _object(answer.content)
            except (*LOST, Away, TimeoutError) as error:
                outcome = outcome if isinstance(error, UNREACHED) else "unknown"
                if time.monotonic() - began > self.patience:
                    raise DelegateError("the server can't be reached", outcome=outcome) from None
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _client(self) -> Any:
        from .http_client import judged_client

        bearer = {} if self.token is None else {"authorization": f"Bearer {self.token}"}
        return judged_client(
            self.base, headers=bearer, allow_hosts=self.allow_hosts, most_bytes=self.most_bytes, trusts_written=False
        )

    async def _check_status(self, answer: Any) -> None:
        """Raise the error of an answer's status, if any."""
        status: int = answer.status_code
        if status < 300:
            return
        await answer.aread()
        if status in {408, 429} or status >= 500:
            raise Away
        if status in {401, 403, 421}:
            host = urlsplit(self.base).netloc
            why = "there is no token for it" if self.token is None else "it refuses the token"
            raise DelegateForbidden(f"the server {host}: {why}: ACTUM_TOKENS={host}=… gives one")
        if status == 404:
            raise DelegateNotFound("nothing of that name is served there")
        raise DelegateError(f"the server refuses the call ({status})")


def _cause(error: JsonObject) -> str:
    """The code of an error; for a failed plan, that of its cause, as for a local delegate (D11)."""
    data: Any = error.get("data")
    cause: Any = data.get("cause") if is_object(data) else None
    is_plan = error.get("code") in (PlanFailed.code, PlanLeft.code)
    return _cause(cause) if is_plan and is_object(cause) else str(error.get("code"))


def _object(content: bytes, *, is_row: bool = False) -> JsonObject:
    """The object in an answer; `is_row`: it describes a run, with its `state`."""
    try:
        value = decode(content.decode())
    except (NotJson, UnicodeDecodeError):
        value = None
    if not is_object(value) or (is_row and not isinstance(value.get("state"), str)):
        raise DelegateError("the server's answer is not one that an Actum server gives")
    return value
