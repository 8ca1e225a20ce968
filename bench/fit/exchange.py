"""What one task asked of its model and was answered, as files that anybody can read and write.

`request-N.json` is what a provider would be sent; `answer-N.txt` is what came back, as it came. A task that was cut is
carried out again from its beginning, in a world of its own, and what was answered before is answered from here.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from actum.models import ModelMessage, ModelRequest
from actum.schema.json import encode

from ..latency import tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request by its number in the task, and its answer if it has one."""

    number: int
    key: str
    messages: Sequence[ModelMessage]
    schema: str
    """As JSON text; it travels beside the messages unless the mode is `prompted`: then they state it."""
    mode: str
    answer: str | None = None
    is_anew: bool = False
    """Whether it opens the task in another way than it was opened before: Actum, or the world, has changed."""

    @property
    def is_beside(self) -> bool:
        """Whether the schema is sent beside the messages."""
        return self.mode != "prompted"

    @property
    def tokens_in(self) -> int:
        """The tokens of what is sent."""
        return sum(tokens(message["content"]) for message in self.messages) + (
            tokens(self.schema) if self.is_beside else 0
        )

    @property
    def bytes_in(self) -> int:
        """The bytes of what is sent."""
        sent = [message["content"] for message in self.messages] + ([self.schema] if self.is_beside else [])
        return sum(len(text.encode()) for text in sent)

    @property
    def tokens_out(self) -> int:
        """The tokens of the answer."""
        return tokens(self.answer or "")


class Exchange:
    """The requests of one task, in its folder if it has one.

    `reached` are those that were asked since this was made, in order.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.reached: list[int] = []
        self._met: Counter[str] = Counter()
        paths = folder.glob("request-*.json") if folder is not None else ()
        numbers = sorted(int(path.stem.removeprefix("request-")) for path in paths)
        self._asked = {} if folder is None else {number: _read(folder, number) for number in numbers}

    def ask(self, request: ModelRequest) -> Asked:
        """What is known of a request; the same one asked for the k-th time is the k-th of those that are the same."""
        key = _key(request)
        same = [asked for asked in self._asked.values() if asked.key == key]
        nth = self._met[key]
        self._met[key] += 1
        asked = same[nth] if nth < len(same) else self._write(request, key)
        if not self.reached and asked.number > 1:
            asked = self._asked[asked.number] = replace(asked, is_anew=True)
        self.reached.append(asked.number)
        return asked

    def take(self, number: int, answer: str) -> None:
        """Keep the answer to a request."""
        if self.folder is not None:
            written(self.folder / f"answer-{number}.txt", answer)
        self._asked[number] = replace(self._asked[number], answer=answer)

    @property
    def asked(self) -> list[Asked]:
        """All requests, in the order in which they were first asked."""
        return [self._asked[number] for number in sorted(self._asked)]

    def of(self, number: int) -> Asked:
        """A request by its number."""
        return self._asked[number]

    @property
    def made(self) -> list[Asked]:
        """The requests that were reached and answered, in the order in which they were asked."""
        return [asked for number in self.reached if (asked := self._asked[number]).answer is not None]

    def _write(self, request: ModelRequest, key: str) -> Asked:
        number = max(self._asked, default=0) + 1
        asked = Asked(number=number, key=key, messages=request.messages, schema=request.schema_text, mode=request.mode)
        self._asked[number] = asked
        if self.folder is None:
            return asked
        kept = {"key": key, "mode": request.mode, "messages": list(request.messages), "schema": request.schema}
        written(self.folder / f"request-{number}.json", json.dumps(kept, ensure_ascii=False, indent=1) + "\n")
        return asked


def written(path: Path, text: str) -> None:
    """Write a file whole or not at all, whatever happens meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _read(folder: Path, number: int) -> Asked:
    kept: dict[str, Any] = json.loads((folder / f"request-{number}.json").read_text(encoding="utf-8"))
    answer = folder / f"answer-{number}.txt"
    return Asked(
        number=number,
        key=kept["key"],
        messages=kept["messages"],
        schema=encode(kept["schema"]),
        mode=kept["mode"],
        answer=answer.read_bytes().decode(errors="replace") if answer.exists() else None,
    )


def _key(request: ModelRequest) -> str:
    sent = encode([list(request.messages), request.mode, dict(request.settings)]) + request.schema_text
    return hashlib.sha256(sent.encode(errors="surrogatepass")).hexdigest()
