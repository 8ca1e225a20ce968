"""Answers that were paid for: repeating the k-th identical request to a model costs nothing (V23)."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..generation.model import Model, ModelRequest, Reasoning, closing
from ..models.wrapped import WrappedModel
from ..protocol.usage import Usage
from ..schema.json import JsonObject, decoded, encode, is_object, plain, sha256_of
from ..sources.files import opened_private


@dataclass(slots=True)
class PaidAnswers:
    """The answers that an eval has received, kept in a file if it has one; `spent` is what is known of the cost in this
    process."""

    path: Path | None = None
    spent: Usage = field(default_factory=Usage)
    known: dict[str, JsonObject] = field(default_factory=dict[str, Any])
    asking: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    """Held while an answer is requested, so that identical requests wait for it."""

    def __post_init__(self) -> None:
        if self.path is None:
            return
        mend(self.path)
        self.known.update((entry["key"], entry) for entry in lines_in(self.path) if isinstance(entry.get("key"), str))

    def add(self, key: str, name: str, deltas: list[str], usage: Usage | None) -> None:
        """Keep a paid answer."""
        entry: JsonObject = {"key": key, "name": name, "deltas": deltas, "usage": usage and asdict(usage)}
        self.known[key] = entry
        # Unknown counts are left out: they must not make the whole sum unknown, and a limit void.
        known = usage or Usage(requests=1)
        self.spent += replace(known, input_tokens=known.known_tokens, output_tokens=0, usd=known.usd or 0.0)
        if self.path is not None:
            append_lines(self.path, [entry])


def append_lines(path: Path, entries: Iterable[JsonObject]) -> None:
    """Append lines in one write to a private file, so that lines of several writers stay whole."""
    descriptor = opened_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with open(descriptor, "ab", buffering=0) as file:
        file.write("".join(f"{encode(entry)}\n" for entry in entries).encode())


def lines_in(path: Path) -> list[JsonObject]:
    """The complete lines of such a file, if there is one; its writer may have been killed during the last one."""
    if not path.exists():
        return []
    lines = path.read_bytes().decode(errors="replace").split("\n")[:-1]
    return [entry for line in lines if is_object(entry := decoded(line, None))]


def mend(path: Path) -> None:
    """Cut off an incomplete last line of such a file, so that the next line begins on its own."""
    if path.exists():
        whole, end, _ = path.read_bytes().rpartition(b"\n")
        os.truncate(path, len(whole) + len(end))


class RepeatedModel(WrappedModel):
    """A model for one repeat of an eval; it isn't asked again for known answers."""

    def __init__(self, model: Model, answers: PaidAnswers, repeat: int) -> None:
        super().__init__(model)
        self._answers, self._repeat = answers, repeat

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        """Yield the known answer, or the model's, which is then kept.

        Raises:
            ModelError: the model's own.
        """
        key = self._key(request)
        async with self._answers.asking[key], closing(self._answered(key, request)) as answer:
            async for item in answer:
                yield item

    async def _answered(self, key: str, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        if (entry := self._answers.known.get(key)) is not None:
            for delta in entry["deltas"]:
                await asyncio.sleep(0)
                yield delta
            if entry["usage"] is not None:
                yield Usage.of(entry["usage"])
            return
        deltas: list[str] = []
        usage: Usage | None = None
        async with closing(self._model.stream(request)) as answer:
            async for item in answer:
                if isinstance(item, str):
                    deltas.append(item)
                elif isinstance(item, Usage):
                    usage = item
                yield item
        self._answers.add(key, self.name, deltas, usage)

    def _key(self, request: ModelRequest) -> str:
        settings = {key: str(value) for key, value in request.settings.items() if key != "headers"}
        messages = [dict(message) for message in request.messages]
        parts = [self.name, settings, request.mode, messages, request.schema, self._repeat]
        return sha256_of(plain(parts))
