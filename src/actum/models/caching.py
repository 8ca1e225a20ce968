"""Where a provider is asked to cache the beginnings of requests: only where another request will read it (W13-W15)."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass

from ..generation.model import ModelRequest
from ..protocol.config import Caching
from ..schema.json import encode

_MOST = 10_000
"""How many prefixes are remembered."""
_BYTES_PER_TOKEN = 3.5
"""The ratio of composed schemas and instructions; most other text has a higher one."""
TENANT: ContextVar[str] = ContextVar("tenant", default="")
"""The tenant whose run asks; no tenant finds what a provider cached for another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheMarks:
    """After how many of a request's messages the provider is asked to cache: none, or several counts, ascending.

    `key` names what all runs begin with, and is empty if nothing is to be cached. `keeps` is for how long. `is_alone`:
    no other request of the run follows, so only what all runs share is worth caching.
    """

    counts: tuple[int, ...] = ()
    key: str = ""
    keeps: Caching = "auto"
    is_alone: bool = True


class Prefixes:
    """Remembers how the requests of a model began."""

    def __init__(self) -> None:
        self._sent: OrderedDict[str, None] = OrderedDict()

    def marks(self, request: ModelRequest, least: int = 0) -> CacheMarks:
        """Mark the prefixes of a request to cache: what all runs share, and what the run's last and next request share.

        `least` is how many tokens a prefix must have to be cached: a shorter one isn't marked (W18).
        """
        keeps: Caching = request.settings.get("cache", "auto")
        most = max(request.shared, request.stable)
        if keeps is False or not most:
            return CacheMarks(keeps=keeps)
        digests, sizes = _digests(request, most)
        shared, is_known = request.shared, digests[request.shared] in self._sent
        before = next((n for n in range(request.stable - 1, shared, -1) if digests[n] in self._sent), 0)
        # The very first request, in a run that makes no other, has no known reader.
        is_read = bool(request.stable) or is_known or keeps != "auto"
        for count in {shared, request.stable} - {0}:
            self._sent[digests[count]] = None
        while len(self._sent) > _MOST:
            self._sent.popitem(last=False)
        long = {count for count in range(1, most + 1) if sizes[count] >= least * _BYTES_PER_TOKEN}
        return CacheMarks(
            counts=tuple(sorted({shared if is_read else 0, before, request.stable} & long)),
            key=_key(digests[shared]) if shared in long else "",
            keeps=keeps,
            is_alone=not request.stable,
        )


def _key(digest: str) -> str:
    tenant = TENANT.get()
    return (hashlib.sha256(f"{tenant}\0{digest}".encode()).hexdigest() if tenant else digest)[:32]


def _digests(request: ModelRequest, most: int) -> tuple[list[str], list[int]]:
    """The digest and the size in bytes of the schema with each prefix of the messages; media count by content."""
    schema = f"{request.mode}{request.schema_text}".encode(errors="surrogatepass")
    running = hashlib.sha256(schema)
    digests, sizes = [running.hexdigest()], [len(schema)]
    for message in request.messages[:most]:
        text = encode(dict(message)).encode(errors="surrogatepass")
        running.update(text)
        digests.append(running.hexdigest())
        sizes.append(sizes[-1] + len(text))
    return digests, sizes
