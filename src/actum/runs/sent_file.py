"""The messages sent to a run in a folder, in a file beside its own, until its next owner takes them up."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import IdeaError
from ..schema.json import JsonObject, decode, encode, is_list, is_object
from ..sources.files import file_time, write_text


class SentFile:
    """Messages, each with when it is due: `[{"item": {…}, "due": null}]`."""

    def __init__(self, run: Path) -> None:
        self.path = run.with_name(f"{run.name}.sent")

    def read(self) -> list[JsonObject]:
        """The messages that nobody has taken up; `due` is None once they are due, by the clock of the file system.

        Raises:
            IdeaError: they can't be read.
        """
        try:
            messages: Any = decode(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise self._unreadable(error.strerror if isinstance(error, OSError) else error) from None
        if not is_list(messages) or not all(map(_is_sent, messages)):
            raise self._unreadable("it is not a list of what a run is sent")
        now = file_time(self.path.parent) if any(message["due"] is not None for message in messages) else 0.0
        return [message if (message["due"] or 0.0) > now else {**message, "due": None} for message in messages]

    def _unreadable(self, why: object) -> IdeaError:
        return IdeaError(f"{self.path}: what the run was sent can't be read: {why}")

    def due(self) -> list[tuple[int, JsonObject]]:
        """The items of the messages that are due, each with its number from 1; raises as `read`."""
        return [(number, message["item"]) for number, message in enumerate(self.read(), 1) if is_due(message)]

    def add(self, items: Iterable[JsonObject], due: float | None) -> None:
        """Add messages that are due at a time, or at once; raises as `read`."""
        self.write([*self.read(), *({"item": item, "due": due} for item in items)])

    def write(self, sent: Sequence[JsonObject]) -> None:
        """Replace the messages."""
        write_text(self.path, encode(list(sent)), private=True)

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the lock of all messages of the folder: briefly, to send some or take some up."""
        folder = self.path.parent
        folder.mkdir(parents=True, exist_ok=True)
        try:
            from fcntl import LOCK_EX, flock
        except ImportError:  # Windows: its user sees to it that no two processes go on with one run at once
            yield
            return
        lock = os.open(folder, os.O_RDONLY)
        try:
            flock(lock, LOCK_EX)
            yield
        finally:
            os.close(lock)


def is_due(sent: JsonObject) -> bool:
    """Whether a message is to be taken up now; a cancellation never is."""
    return "cancel" not in sent["item"] and sent["due"] is None


def is_cancelled(sent: Sequence[JsonObject]) -> bool:
    """Whether one of the messages cancels the run."""
    return any("cancel" in message["item"] for message in sent)


def _is_sent(value: Any) -> bool:
    due: Any = value.get("due", "") if is_object(value) else ""
    return is_object(value) and is_object(value.get("item")) and (due is None or isinstance(due, int | float))
