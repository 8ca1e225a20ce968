"""Answers that were paid for: the same request to the same model, the k-th time, costs nothing again (V23)."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..generation.model import Model, ModelRequest, Reasoning, closing
from ..models.wrapped import WrappedModel
from ..protocol.usage import Usage
from ..schema.json import JsonObject, decoded, encode, is_object, plain, sha256_of
from ..sources.files import opened_private


@dataclass(slots=True)
class PaidAnswers:
    """The answers that an eval has got, in a file if it has one; `spent` is what was paid for in this process."""

    path: Path | None = None
    spent: Usage = field(default_factory=Usage)
    known: dict[str, JsonObject] = field(default_factory=dict[str, Any])
    asking: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    """Held while an answer is on its way: who asks the same meanwhile waits for it."""

    def __post_init__(self) -> None:
        if self.path is None:
            return
        mend(self.path)
        self.known.update((entry["key"], entry) for entry in lines_in(self.path) if isinstance(entry.get("key"), str))

    def add(self, key: str, name: str, deltas: list[str], usage: Usage | None) -> None:
        """Keep an answer that was paid for."""
        entry: JsonObject = {"key": key, "name": name, "deltas": deltas, "usage": usage and asdict(usage)}
        self.known[key] = entry
        self.spent += usage or Usage(requests=1)
        if self.path is not None:
            append_lines(self.path, [entry])


def append_lines(path: Path, entries: Iterable[JsonObject]) -> None:
    """Add lines at once to a file that only its user reads; those of several writers stay whole."""
    descriptor = opened_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with open(descriptor, "ab", buffering=0) as file:
        file.write("".join(f"{encode(entry)}\n" for entry in entries).encode())


def lines_in(path: Path) -> list[JsonObject]:
    """The whole lines of such a file, if there is one; its writer may have been killed in the last one."""
    if not path.exists():
        return []
    lines = path.read_bytes().decode(errors="replace").split("\n")[:-1]
    return [entry for line in lines if is_object(entry := decoded(line, None))]


def mend(path: Path) -> None:
    """Cut the line off such a file that its writer was killed in: what is added next is a line of its own."""
    if path.exists():
        whole, end, _ = path.read_bytes().rpartition(b"\n")
        os.truncate(path, len(whole) + len(end))


class RepeatedModel(WrappedModel):
    """A model as one repeat of an eval asks it: what was answered before isn't asked again."""

    def __init__(self, model: Model, answers: PaidAnswers, repeat: int) -> None:
        super().__init__(model)
        self._answers, self._repeat = answers, repeat

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        """The answer that is known, or the model's own, which is known from then on.

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
