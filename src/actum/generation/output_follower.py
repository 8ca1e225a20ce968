"""Passes the output of an answer on to a listener while it arrives."""

from __future__ import annotations

from typing import Protocol

from ..dataflow.reference import Path
from ..schema.json import Json
from .answer_parser import AnswerParser
from .compile import Frame
from .strings import OutputTexts

_LEAST_GROWTH = 16


class Listener(Protocol):
    """Receives the output while it arrives, and the model's thoughts."""

    def thought(self, text: str) -> None:
        """The model thinks this."""
        ...

    def partial(self, text: str, *, is_literal: bool) -> None:
        """The text of `output` has grown to this; `is_literal`: a † in it is plain text."""
        ...

    def text(self, path: Path, text: str, *, is_sure: bool) -> None:
        """A string of `output` has grown. `is_sure`: all calls have arrived, and no string so far has a reference."""
        ...

    def whole(self, output: Json, *, is_literal: bool) -> None:
        """The output is complete, as the model wrote it."""
        ...


class OutputFollower:
    """Passes the output on to a listener while it arrives."""

    def __init__(self, parser: AnswerParser, frame: Frame, listener: Listener, *, is_literal: bool) -> None:
        parser.follow_output()
        self._parser = parser
        self._listener = listener
        self._is_literal = is_literal
        self._texts = OutputTexts(is_literal=is_literal) if frame.lowered.keeps_output else None
        """None if lowering moved the output's strings: they are passed on when it is complete."""
        self._length = 0
        self._has_ended = False

    def update(self) -> None:
        """Pass on what is new."""
        if self._has_ended or not (new := self._parser.new_output()):
            return
        self._tell_texts(new)
        length = self._parser.partial_output.length
        # Once it has grown by a twentieth, so that passing on all of it again costs no more than reading it.
        if length >= self._length + _LEAST_GROWTH + self._length // 20:
            self._length = length
            self._listener.partial(self._parser.partial_output.text, is_literal=self._is_literal)

    def end(self, authored: Json) -> None:
        """Pass on the rest, now that the output is complete: `authored`, or None where there is none yet."""
        self._tell_texts(self._parser.new_output())
        self._has_ended = True
        if authored is not None:
            self._listener.whole(authored, is_literal=self._is_literal)

    def _tell_texts(self, new: str) -> None:
        texts = self._texts
        if texts is None:
            return
        for path, text in texts.feed(new):
            self._listener.text(path, text, is_sure=self._parser.has_calls and not texts.is_filled)
