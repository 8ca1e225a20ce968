"""What was fetched before, kept by content: in memory, and in a folder if there is one (D12)."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import IdeaError
from ..schema.json import JsonObject
from .files import write_bytes, write_text

_MOST_BYTES = 32_000_000
"""How much content is kept in memory."""
_LONGEST_FRESH = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One content, and what its server said of how long it holds."""

    content: bytes
    etag: str | None = None
    modified: str | None = None
    fresh_until: float = 0.0

    @property
    def is_fresh(self) -> bool:
        """Whether it may be used without asking again."""
        return time.time() < self.fresh_until

    @property
    def conditions(self) -> dict[str, str]:
        """The headers that ask whether it still holds."""
        found = {"if-none-match": self.etag, "if-modified-since": self.modified}
        return {name: value for name, value in found.items() if value is not None}


class Cache:
    """Contents by URL. What a folder holds is judged by its digest: one that was changed counts as absent."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._memory: OrderedDict[str, Kept] = OrderedDict()
        self._bytes = 0

    def find(self, url: str) -> Kept | None:
        """What was kept of a URL."""
        kept = self._memory.get(url)
        return kept if kept is not None or self._folder is None else _read(self._folder, url)

    def keep(self, url: str, content: bytes, headers: Mapping[str, str]) -> None:
        """Keep what a URL answered with, unless its server forbids it."""
        directives = _directives(headers.get("cache-control", ""))
        self._drop(url)
        if "no-store" in directives:
            return
        age = directives.get("max-age", "")
        seconds = min(float(age), _LONGEST_FRESH) if age.isdigit() and "no-cache" not in directives else 0.0
        kept = Kept(
            content=content,
            etag=headers.get("etag"),
            modified=headers.get("last-modified"),
            fresh_until=time.time() + seconds if seconds else 0.0,
        )
        if not kept.conditions and not seconds:
            return
        self._memory[url] = kept
        self._bytes += len(content)
        while self._bytes > _MOST_BYTES and len(self._memory) > 1:
            self._drop(next(iter(self._memory)))
        if self._folder is not None:
            _write(self._folder, url, kept)

    def _drop(self, url: str) -> None:
        kept = self._memory.pop(url, None)
        self._bytes -= len(kept.content) if kept is not None else 0


def _directives(header: str) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in header.lower().split(","))
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(folder: Path, url: str) -> Kept | None:
    try:
        note: JsonObject = json.loads((folder / "urls" / f"{_digest(url.encode())}.json").read_text("utf-8"))
        content = (folder / "content" / str(note["digest"])).read_bytes()
        if note["url"] != url or _digest(content) != note["digest"]:
            return None
        return Kept(
            content=content, etag=note["etag"], modified=note["modified"], fresh_until=float(note["fresh_until"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(folder: Path, url: str, kept: Kept) -> None:
    digest = _digest(kept.content)
    note = {
        "url": url,
        "digest": digest,
        "etag": kept.etag,
        "modified": kept.modified,
        "fresh_until": kept.fresh_until,
    }
    try:
        write_bytes(folder / "content" / digest, kept.content)
        write_text(folder / "urls" / f"{_digest(url.encode())}.json", json.dumps(note))
    except IdeaError:
        return  # a cache that can't be written keeps nothing; the content has been fetched
