"""placeholder"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    url: str
    content: bytes
    digest: str


class Fetcher:
    def __init__(self, *, allow_hosts: Collection[str] = (), most_bytes: int = 1_000_000, **more: Any) -> None: ...
    async def fetch(self, url: str) -> Fetched:
        from ..errors import DelegateForbidden

        raise DelegateForbidden("no")
