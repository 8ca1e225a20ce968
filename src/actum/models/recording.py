"""A model's requests and answers as a file: `Recording` writes it, `Replay` answers from it.

One JSON object a line: `name`, `request` (messages, schema, settings, mode), `deltas` as they came, then `usage` or
`error`. The file is as private as what was sent and received; keys, and the headers that might hold one, are left out.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import IdeaError, ModelError
from ..generation.model import Model, ModelMessage, ModelRequest, Reasoning, Usage, closing
from ..generation.request_media import EVERYTHING, Takes, takes_of
from ..schema.json import Json, JsonObject, NotJson, are_texts, encode, plain
from ..schema.lowering import DIALECTS, Dialect
from ..sources.files import opened_private, unwritable
from .wrapped import WrappedModel

_DIALECT_NAME = re.compile(r'\{"name":"(?:[^"\\]|\\.)*","dialect":"([a-z]+)"')
"""How a recorded line begins."""
_URLS = re.compile(r'\{"name":"(?:[^"\\]|\\.)*",(?:"dialect":"[a-z]+",)?"urls":(\["?[a-z",]*\])')
"""How a recorded line begins whose request has images, audio or files."""
_ERROR_FIELDS = ("code", "status", "retry_after", "retryable", "schema_refused")


class Recording(WrappedModel):
    """Asks another model and appends each request with its answer to a file, when the answer has ended.

    An answer that failed, or that nobody read to its end, is written as far as it came.
    """

    def __init__(self, model: Model, path: str | os.PathLike[str]) -> None:
        super().__init__(model)
        self._path = Path(path)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        """Yield the model's answer unchanged; its thoughts aren't recorded.

        Raises:
            ModelError: the model's own, or because the file can't be written.
        """
        deltas: list[str] = []
        dialect: Dialect | None = getattr(self._model, "dialect", None)
        head: JsonObject = {"name": self.name} | ({} if dialect is None else {"dialect": dialect.name})
        if any("media" in message for message in request.messages):
            head["urls"] = sorted(takes_of(self._model).urls)
        entry: JsonObject = {**head, "request": _request_entry(request), "deltas": deltas}
        try:
            async with closing(self._model.stream(request)) as answer:
                async for item in answer:
                    if isinstance(item, str):
                        deltas.append(item)
                    elif isinstance(item, Usage):
                        entry["usage"] = asdict(item)
                    yield item
        except Exception as error:
            entry["error"] = _error_entry(error)
            raise
        finally:
            # Also reached when the reader leaves early or is cancelled, so writing must not await.
            _append(self._path, entry)


class Replay:
    """Answers from a recording: the request with the same messages and schema, the k-th time with the k-th of them."""

    def __init__(self, path: str | os.PathLike[str], *, dialect: Dialect | None = None) -> None:
        self._path = Path(path)
        self._entries: _Entries | None = None
        self._reading = threading.Lock()
        self._dialect = dialect

    @property
    def name(self) -> str:
        """The file's name, as `load` takes it."""
        return f"replay:{self._path}"

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of the recorded model, so that the same schema is requested."""
        if self._dialect is None and os.path.isfile(self._path):
            with self._path.open(encoding="utf-8", errors="replace") as file:
                name = _DIALECT_NAME.match(file.readline())
            self._dialect = DIALECTS.get(name.group(1)) if name is not None else None
        return self._dialect

    @cached_property
    def takes(self) -> Takes:
        """Everything; addresses only of kinds that the recorded model took by address, so that others are fetched."""
        if not os.path.isfile(self._path):
            return EVERYTHING
        with self._path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            for line in file:
                if (match := _URLS.match(line)) is not None:
                    return replace(EVERYTHING, urls=frozenset(json.loads(match.group(1))))
        return EVERYTHING

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Usage]:
        """Yield the recorded answer in the deltas it came in.

        Raises:
            ModelError: when the file can't be read or has no such request, or because the recorded answer failed.
        """
        if self._entries is None:
            await asyncio.to_thread(self._read)
        assert self._entries is not None
        entry = self._entries.take(request)
        for delta in entry.deltas:
            await asyncio.sleep(0)
            yield delta
        if entry.usage is not None:
            yield entry.usage
        if entry.error is not None:
            raise entry.error
        if entry.usage is None:
            raise ModelError(f"{self.name}: the recorded answer was left before its end", code="model_recording")

    def _read(self) -> None:
        # Concurrent first requests each get here on their own thread, and only one may read.
        with self._reading:
            if self._entries is None:
                self._entries = _Entries(self._path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    messages: list[Any]
    deltas: list[str]
    usage: Usage | None
    error: ModelError | None


class _Entries:
    """The recorded answers by request; each is given once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._asked = 0
        self._by_key: dict[str, list[_Entry]] = {}
        self._used: dict[str, int] = {}
        try:
            # Only the line feed ends a line: others may occur in a string, and are data there.
            lines = path.read_bytes().decode(errors="surrogatepass").split("\n")
        except (OSError, ValueError) as error:
            raise ModelError(f"the recording {path} can't be read: {error}", code="model_recording") from error
        for number, line in enumerate(lines, 1):
            if line.strip():
                key, entry = _parse(line, f"{path}, line {number}")
                self._by_key.setdefault(key, []).append(entry)

    def take(self, model_request: ModelRequest) -> _Entry:
        self._asked += 1
        request = _request_entry(model_request)
        key = _key(request)
        recorded = self._by_key.get(key, [])
        count = self._used.get(key, 0)
        if count < len(recorded):
            self._used[key] = count + 1
            return recorded[count]
        raise ModelError(
            f"{self._path} has no answer for request number {self._asked}: {self._difference(request, count)}",
            code="model_recording",
        )

    def _difference(self, request: JsonObject, count: int) -> str:
        if count:
            return f"it was recorded {count} times, and all of them were given"
        entries = [entry for entries in self._by_key.values() for entry in entries]
        if not entries:
            return "nothing is recorded"
        messages: list[Any] = request["messages"]
        shared = max(_common_length(entry.messages, messages) for entry in entries)
        if any(entry.messages == messages for entry in entries):
            return "the messages are recorded, with another schema"
        return f"it differs from the nearest recorded one at message {shared}"


def _common_length(left: list[Any], right: list[Any]) -> int:
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def _key(entry: JsonObject) -> str:
    return encode([entry["messages"], entry["schema"]], sort_keys=True)


def _request_entry(request: ModelRequest) -> JsonObject:
    return {
        "messages": [_message(message) for message in request.messages],
        "schema": request.schema,
        "settings": {key: _setting(value) for key, value in request.settings.items() if key != "headers"},
        "mode": request.mode,
    }


def _message(message: ModelMessage) -> JsonObject:
    """A message with its media identified by digest, without their data, which every later request repeats."""
    entry: JsonObject = dict(message)
    if "media" in message:
        entry["media"] = {key: value for key, value in message["media"].items() if key != "data"}
    return entry


def _setting(value: object) -> Json:
    try:
        return plain(value)
    except NotJson:
        # A setting may be an object of the SDK's; it plays no part in a replay.
        return repr(value)


def _error_entry(error: Exception) -> JsonObject:
    if not isinstance(error, ModelError):
        return {"message": f"{type(error).__name__}: {error}"}
    return {"message": error.message} | {field: getattr(error, field) for field in _ERROR_FIELDS}


def _append(path: Path, entry: JsonObject) -> None:
    # A provider may split a surrogate pair between two deltas; deltas are written as they came.
    line = f"{encode(entry)}\n".encode(errors="surrogatepass")
    try:
        # One write to a file opened for appending: lines of concurrent requests, and processes, stay whole.
        descriptor = opened_private(path, os.O_WRONLY | os.O_APPEND)
        try:
            is_whole = os.write(descriptor, line) == len(line)
        finally:
            os.close(descriptor)
    except IdeaError as error:
        raise ModelError(f"the recording can't be written: {error.message}", code="model_recording") from error
    except (OSError, ValueError) as error:
        message = f"the recording {path} can't be written: {unwritable(error)}"
        raise ModelError(message, code="model_recording") from error
    if not is_whole:
        raise ModelError(f"the recording {path} holds only part of an answer: make room", code="model_recording")


def _parse(line: str, where: str) -> tuple[str, _Entry]:
    try:
        record = json.loads(line)
        request, error = record["request"], record.get("error")
        deltas = record["deltas"]
        if not are_texts(deltas):
            raise TypeError("deltas are strings")
        return _key(request), _Entry(
            messages=request["messages"],
            deltas=deltas,
            usage=Usage(**record["usage"]) if record.get("usage") else None,
            error=ModelError(**error) if error else None,
        )
    except (json.JSONDecodeError, RecursionError) as error:
        raise ModelError(f"{where} is not JSON: {error}", code="model_recording") from error
    except (LookupError, TypeError, AttributeError) as error:
        raise ModelError(f"{where} is not a recorded request: {error!r}", code="model_recording") from error
