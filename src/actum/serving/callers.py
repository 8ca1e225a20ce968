"""Callers: their tokens, the cookies that stand for them in a browser, and how much each may ask for."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hmac import compare_digest

from ..errors import RunError, StoreUnavailable
from ..runs.handle import Run
from ..runs.row import check_id
from ..runs.runs import Runs
from .refusals import Refusal

CALLER = "actum.caller"
"""The key of the scope under which applications find the name of who asks."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine for itself."""
MOST_BYTES = 4 * 1024 * 1024
"""How many bytes the body of a request may have where nothing else is said."""
_LEAST = 16
"""How many characters a token has at least."""
_MOST_OPEN = 1_000
"""How many requests of all callers may be open at once."""

_TICK = re.compile(r"@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
"""How the ids of runs end that schedules submit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How much one caller may ask for; None is as much as it likes.

    `runs` counts those that are under way at once, `requests` those of a minute, `streams` the requests that are open
    at once: streams of events, and what waits for an answer. `buffered` counts the bytes of answers that were made and
    not yet taken; a single one may be larger.
    """

    runs: int | None = 100
    requests: int | None = 6_000
    streams: int | None = 200
    buffered: int | None = 64 * 1024 * 1024


UNBOUNDED = Quota(runs=None, requests=None, streams=None, buffered=None)
"""For whoever has started the process: no bounds."""


class WeakToken(RunError, ValueError):
    """A token that is no secret. It is a `ValueError`, too, as it was before this class existed."""

    code = "weak_token"


class Callers:
    """The callers of a server by their tokens. A name is the tenant of the caller's runs; `""` is who owns the server.

    Raises:
        WeakToken: there is no token, two callers have one, or one is too short to be a secret.
    """

    def __init__(
        self,
        token: str | Mapping[str, str],
        quota: Quota | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        named = dict(token) if isinstance(token, Mapping) else {"": token}
        if not named or not all(_is_secret(secret) for secret in named.values()):
            raise WeakToken(f"a token has at least {_LEAST} ASCII characters; secrets.token_urlsafe(32) makes one")
        if len(set(named.values())) < len(named):
            raise WeakToken("two callers have the same token")
        self.quota = quota or Quota()
        self._tokens = {name: secret.encode() for name, secret in named.items()}
        self._sessions = {name: _session_of(secret) for name, secret in self._tokens.items()}
        self._clock = clock
        self._allowance = {name: (float(self.quota.requests or 0), clock()) for name in named}
        self._open = Counter[str]()
        self._buffered = Counter[str]()

    def of_token(self, token: str) -> str | None:
        """The caller who has a token; None if nobody has it. All are compared, in the same time."""
        return _caller_of(self._tokens, token.encode(errors="replace"))

    def of_session(self, cookie: str) -> str | None:
        """The caller whose browser has this cookie."""
        return _caller_of(self._sessions, cookie.encode(errors="replace"))

    def session(self, caller: str) -> str:
        """The cookie that the caller's browser keeps in place of the token."""
        return self._sessions[caller].decode()

    def count(self, caller: str) -> None:
        """Count one request.

        Raises:
            Refusal: there were too many in the last minute; `Retry-After` says when there is room again.
        """
        most = self.quota.requests
        if most is None:
            return
        allowance, at = self._allowance[caller]
        now = self._clock()
        allowance = min(float(most), allowance + (now - at) * most / 60)
        if allowance < 1:
            self._allowance[caller] = (allowance, now)
            seconds = math.ceil((1 - allowance) * 60 / most)
            raise Refusal(429, "too_many_requests", "too many requests", retry=seconds)
        self._allowance[caller] = (allowance - 1, now)

    @contextmanager
    def asking(self, caller: str) -> Generator[None]:
        """Count a request as open as long as the block lasts.

        Raises:
            Refusal: the caller has as many open as it may, or all callers together have.
        """
        most = self.quota.streams
        if most is not None and self._open[caller] >= most:
            raise Refusal(429, "too_many_streams", f"{most} requests are open, as many as may be", retry=1)
        if self._open.total() >= _MOST_OPEN:
            raise Refusal(503, "busy", "the server answers as many requests as it can", retry=1)
        self._open[caller] += 1
        try:
            yield
        finally:
            self._open[caller] -= 1

    @contextmanager
    def holding(self, caller: str, size: int) -> Generator[None]:
        """Count the bytes of an answer as buffered until the end of the block, in which they are sent.

        Raises:
            Refusal: with the other answers that the caller hasn't read yet, these bytes would be too many.
        """
        most, buffered = self.quota.buffered, self._buffered[caller]
        if most is not None and buffered and buffered + size > most:
            raise Refusal(503, "busy", "answers that were asked for before are not taken yet", retry=5)
        self._buffered[caller] += size
        try:
            yield
        finally:
            self._buffered[caller] -= size


def stored_id(caller: str, id: str) -> str:
    """The id under which a caller's run is stored: prefixed, so that callers can't take each other's ids."""
    return id if not caller else f"{_prefix_of(caller)}{id}"


def check_run_id(id: str) -> None:
    """Validate the id that a caller gives a run.

    Raises:
        RunError: it can't be an id.
        Refusal: it looks like that of a schedule's tick, which would then be taken for done.
    """
    check_id(id)
    if _TICK.search(id):
        why = "an id that ends with @ and a time is that of a schedule's tick: schedules submit those"
        raise Refusal(422, "run_id", why, path="id")


def public_id(caller: str, run: Run) -> str:
    """The id of a run as its caller knows it; for the owner of the server, the id under which it is stored."""
    return run.id.removeprefix(_prefix_of(caller)) if caller else run.id


def public_message(caller: str, message: str) -> str:
    """An error's message, with the id of its run as the caller knows it."""
    return message.replace(f"run {_prefix_of(caller)}", "run ", 1) if caller else message


def _prefix_of(caller: str) -> str:
    return f"{hashlib.sha256(caller.encode(errors='replace')).hexdigest()[:12]}:"


async def find_run(runs: Runs, id: str) -> Run | None:
    """The run of an id, None where there is none.

    Raises:
        StoreUnavailable: the store can't be reached.
    """
    try:
        return await runs.get(id)
    except StoreUnavailable:
        raise
    except RunError:
        return None


async def check_room(runs: Runs, caller: str, quota: Quota) -> None:
    """Check that a caller may start one more run; check and submit under one lock.

    Raises:
        Refusal: as many as allowed are under way.
    """
    if (most := quota.runs) is None:
        return
    under_way = 0
    for state in ("queued", "running"):
        under_way += len(await runs.list(state=state, tenant=caller, most=most))
    if under_way >= most:
        raise Refusal(429, "too_many_runs", f"{most} runs are under way, as many as may be at once", retry=5)


def _session_of(token: bytes) -> bytes:
    """A hash of the token, since cookies are sent to every port of a host."""
    return hmac.new(token, b"actum session", hashlib.sha256).hexdigest().encode()


def _caller_of(secrets: Mapping[str, bytes], given: bytes) -> str | None:
    caller = None
    for name, secret in secrets.items():
        if compare_digest(secret, given):
            caller = name
    return caller


def _is_secret(token: object) -> bool:
    return isinstance(token, str) and len(token) >= _LEAST and token.isascii() and token.isprintable()
