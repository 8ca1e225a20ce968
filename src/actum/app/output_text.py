"""The text of a run's output as it arrives: what of it can't be withheld any more (O9), and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from ..dataflow.reference import SIGIL, Path, ReferenceSyntax, print_path, scan_reference
from ..errors import SchemaError, SolutionError
from ..events import AnyEvent, RequestStarted, Retried, TextDelta
from ..schema.infer import shape_of
from ..schema.type_reading import type_of
from ..schema.types import Misfit, Text
from ..schema.types import member as type_at
from .stream import Stream


class TextGiven:
    """The text of one string of the output that has been given; where an answer begins again, it has to agree."""

    def __init__(self, member: str) -> None:
        self._member = member
        self._pieces: list[str] = []
        self._before = ""
        """What an earlier attempt has given, as far as it has not come again."""

    def piece(self, event: AnyEvent) -> str:
        """What of the text an event brings that has not been given.

        Raises:
            SolutionError: the answer was begun again, and says other words than those that were given.
        """
        if event.depth:
            return ""
        if isinstance(event, RequestStarted | Retried):
            self.anew()
        if not isinstance(event, TextDelta) or event.provisional or event.member != self._member:
            return ""
        return self.more(event.text)

    def anew(self) -> None:
        """The answer may be begun again."""
        if self._pieces:
            self._before = "".join(self._pieces)
            self._pieces.clear()

    def more(self, text: str) -> str:
        """What of the next piece of the text has not been given; raises as `piece`."""
        self._pieces.append(text)
        known, self._before = self._before[: len(text)], self._before[len(text) :]
        if not text.startswith(known):
            raise _other_words()
        return text[len(known) :]

    def begun_again(self) -> str:
        """All that has come of the new attempt: for who can show it from its beginning."""
        self._before = ""
        return "".join(self._pieces)

    def end(self) -> None:
        """The run is over.

        Raises:
            SolutionError: the answer was begun again, and says less than what was given.
        """
        if self._before:
            raise _other_words()


def member_of(schema: Any, member: str) -> str:
    """The path of a string in the output as events have it.

    Raises:
        SchemaError: the schema has no text there, or that can't be a path.
    """
    try:
        path = _path(member)
        found = type_of(shape_of(schema).schema)
        for segment in path:
            found = type_at(found, segment)
    except (ReferenceSyntax, Misfit) as error:
        raise SchemaError(f"the output has no text at {member!r}: {error}") from None
    if found.alternatives is not None and not any(isinstance(one, Text) for one in found.alternatives):
        where = f"at {member!r} " if member else ""
        raise SchemaError(
            f"the output {where}isn't a text: name one in it, as in member='answer' or member='items[0].text'"
        )
    return print_path(path).removeprefix(".")


async def text_pieces(stream: Stream, member: str) -> AsyncGenerator[str]:
    """The text at a path of a run's output, as it becomes certain; closing it cancels the run (L7)."""
    given = TextGiven(member)
    async with stream:
        async for event in stream:
            if piece := given.piece(event):
                yield piece
    given.end()


def _path(member: str) -> Path:
    dot = "." if member[:1] not in ("", "[") else ""
    text = f"{SIGIL}output{dot}{member}"
    reference, end = scan_reference(text, 0)
    if end < len(text):
        raise ReferenceSyntax("write a path, for example answer or items[0].text")
    return reference.path


def _other_words() -> SolutionError:
    return SolutionError("the answer was begun again, in other words than those that had been given already")
