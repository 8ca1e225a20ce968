"""Parses an answer as it arrives: yields each element of `calls` the moment its brace closes, in one pass (L1, L3).

It finds where values begin and end; the caller decodes and judges them. Memory holds only the value being read. Code
fences and chatter around the answer are skipped.

Most deltas are a few characters in the middle of a call: they are deferred until one comes that closes something, and
are then read together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from enum import IntEnum, auto
from typing import Literal, NamedTuple, TypeAlias

from ..errors import SolutionError
from ..schema.json import MAX_WRITTEN_DEPTH

MOST_CHARACTERS = 64 * 1024 * 1024
"""How long one call, or the output, may be."""
_DEEPEST = 100_000
MOST_BLANKS = 1000
"""How many blanks in a row an answer may have: models whose decoder allows any number may write them forever (W30)."""
_MOST_AT_ONCE = 64 * 1024
"""How much of a call is deferred and searched for its end at once; longer ones are read piece by piece."""

Name: TypeAlias = Literal["calls", "output", "meta"]


class AnswerSyntax(ValueError):
    """The text is not an answer; the message says where it stops being one."""


class Element(NamedTuple):
    """The text of the element of `calls` at an index, or why it was refused."""

    at: int
    text: str
    refused: str | None = None


class Member(NamedTuple):
    """The text of `output` or `meta`, or why it was refused."""

    name: Name
    text: str
    refused: str | None = None


class _Mode(IntEnum):
    SEEK = auto()
    OPENED = auto()
    KEY = auto()
    IN_KEY = auto()
    COLON = auto()
    VALUE = auto()
    IN_VALUE = auto()
    AFTER = auto()
    ITEM = auto()
    IN_ITEM = auto()
    AFTER_ITEM = auto()
    DONE = auto()


_AFTER_CALL = {",": _Mode.ITEM, "]": _Mode.AFTER, None: _Mode.AFTER_ITEM}
"""The mode after a whole call, by what follows it."""
_CLOSING = {"{": "}", "[": "]"}
_VISIBLE = re.compile(r"\S")
_STRUCTURE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\],]', re.DOTALL)
"""A complete string, or one structural character of JSON; possessive, so that an incomplete string is read once."""
_WHOLE = re.compile(
    r"""\s*+(\{[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+\})(?:\s*+([,\]]))?+""", re.DOTALL
)
"""An object without nested containers, as most calls are, and what follows it in the list, if that has arrived."""
_STRING_STOP = re.compile(r'["\\]')
_KEYS = ("calls", "output", "meta")


class AnswerParser:
    """Feed it deltas; it yields what each completes. `finish` checks that the answer is complete."""

    def __init__(self) -> None:
        self.partial_output = _Capture()
        self._is_followed = False
        self._mode = _Mode.SEEK
        self._brackets: list[str] = []
        self._in_string = self._escaped = False
        self._capture = _Capture()
        self._key = ""
        self._keys: set[str] = set()
        self._items = 0
        self.signs = 0
        """How many strings, brackets and commas have been read one by one: a measure of the work of reading."""
        self._deferred: list[str] = []
        self._deferred_length = 0
        self._blanks = 0

    def feed(self, text: str) -> Iterable[Element | Member]:
        """Take in the next piece of text and yield what it completes.

        Raises:
            AnswerSyntax: the answer is not JSON of its form.
            SolutionError: only blanks are arriving.
        """
        self._blanks = (self._blanks if text.isspace() else 0) + len(text) - len(text.rstrip())
        if self._blanks > MOST_BLANKS and self._mode is not _Mode.DONE:
            raise SolutionError(f"the answer was cut: it went on in blanks, {MOST_BLANKS} of them")
        if _Mode.ITEM <= self._mode < _Mode.DONE and self._can_wait(text):
            self._defer(text)
            return ()
        if self._deferred:
            text = "".join((*self._deferred, text))
            self._deferred.clear()
            self._deferred_length = 0
        return self._read(text)

    def _can_wait(self, text: str, position: int = 0) -> bool:
        """Whether the rest of the text can't complete a call and is short enough to defer."""
        length = self._deferred_length + len(text) - position
        return length <= _MOST_AT_ONCE and text.find("}", position) < 0 and text.find("]", position) < 0

    def _defer(self, text: str) -> None:
        self._deferred.append(text)
        self._deferred_length += len(text)

    def _read(self, text: str) -> Iterator[Element | Member]:
        position = 0
        while position < len(text):
            mode = self._mode
            if mode is _Mode.IN_ITEM or mode is _Mode.IN_VALUE or mode is _Mode.IN_KEY:
                position, done = self._read_value(text, position)
                if done is not None:
                    yield done
            elif mode is _Mode.DONE:
                return
            elif mode is _Mode.ITEM and (whole := _WHOLE.match(text, position, position + _MOST_AT_ONCE)):
                self._mode = _AFTER_CALL[whole[2]]
                self._items += 1
                position = whole.end()
                yield Element(self._items - 1, whole[1])
            elif mode is _Mode.ITEM and self._can_wait(text, position):
                self._defer(text[position:])
                return
            else:
                position = self._read_between(text, position)

    @property
    def has_calls(self) -> bool:
        """Whether `calls` has begun; once anything follows it, all calls have arrived."""
        return "calls" in self._keys

    def follow_output(self) -> None:
        """Keep the text of `output` as it arrives, for `new_output`."""
        self._is_followed = True

    def new_output(self) -> str:
        """The text of `output` that has arrived since the last call."""
        return self.partial_output.take_new() if self._is_followed else ""

    def finish(self) -> None:
        """Check that the text, which has ended, is a complete answer.

        Raises:
            AnswerSyntax: it ended too soon.
        """
        if self._mode is _Mode.SEEK:
            raise AnswerSyntax("there is no JSON object with 'calls' and 'output' in the answer")
        if self._mode is not _Mode.DONE:
            where = f" inside {self._key!r}" if self._key else ""
            raise AnswerSyntax(f"the answer ends{where} before its object is closed")

    def _read_between(self, text: str, position: int) -> int:  # noqa: PLR0912 -- a table of states
        """Read one character between values; the mode says which are allowed."""
        if self._mode is _Mode.SEEK:
            start = text.find("{", position)
            if start < 0:
                return len(text)
            self._mode, self._items, self._key = _Mode.OPENED, 0, ""
            self._keys.clear()
            return start + 1
        match = _VISIBLE.search(text, position)
        if match is None:
            return len(text)
        char, position = match.group(), match.start()
        match self._mode, char:
            case _Mode.OPENED | _Mode.KEY, '"':
                self._begin_value(_Mode.IN_KEY)
                return position
            case _Mode.OPENED | _Mode.AFTER, "}":
                # An object with none of the keys belongs to the chatter before the answer.
                self._mode = _Mode.SEEK if self._keys.isdisjoint(_KEYS) else _Mode.DONE
            case _Mode.OPENED, _:
                self._mode = _Mode.SEEK
                return position
            case _Mode.COLON, ":":
                self._mode = _Mode.VALUE
            case _Mode.VALUE, "[" if self._key == "calls":
                self._mode = _Mode.ITEM
            case _Mode.VALUE, _ if char not in ",:}]":
                self._begin_value(_Mode.IN_VALUE)
                return position
            case _Mode.AFTER, ",":
                self._mode, self._key = _Mode.KEY, ""
            case _Mode.ITEM, "]" if self._items == 0:
                self._mode = _Mode.AFTER
            case _Mode.ITEM, _ if char not in ",:}]":
                self._begin_value(_Mode.IN_ITEM)
                return position
            case _Mode.AFTER_ITEM, ",":
                self._mode = _Mode.ITEM
            case _Mode.AFTER_ITEM, "]":
                self._mode = _Mode.AFTER
            case _ if self._keys.isdisjoint(_KEYS):  # not JSON: chatter with a brace in it
                self._mode = _Mode.SEEK
                return position
            case _:
                where = f" in {self._key!r}" if self._key else ""
                raise AnswerSyntax(f"unexpected {char!r}{where}: the answer is not JSON")
        return position + 1

    def _begin_value(self, mode: _Mode) -> None:
        self._mode = mode
        self._brackets.clear()
        if mode is _Mode.IN_VALUE:
            if self._key == "output":
                self.partial_output = self._capture
                if self._is_followed:
                    self._capture.news = []
            self._capture.is_kept = self._key in _KEYS

    def _read_value(self, text: str, start: int) -> tuple[int, Element | Member | None]:
        """Continue inside a value; return where reading stopped and, if the value ended, the part it completes."""
        position = start
        while position < len(text):
            if self._in_string:
                position = self._skip_string(text, position)
                if self._in_string or self._brackets:
                    continue
                return position, self._complete(text, start, position)
            self.signs += 1
            match = _STRUCTURE.search(text, position)
            if match is None:
                position = len(text)
                break
            char, position = match.group(), match.end()
            if char == '"':
                self._in_string = True
            elif char[0] == '"':
                if not self._brackets:
                    return position, self._complete(text, start, position)
            elif char in _CLOSING:
                self._push(char)
            elif not self._brackets:  # a scalar ends before the comma or bracket that follows it
                return position - 1, self._complete(text, start, position - 1)
            elif char != "," and self._pop(char):
                return position, self._complete(text, start, position)
        self._capture.add(text[start:position])
        return position, None

    def _skip_string(self, text: str, position: int) -> int:
        if self._escaped:
            self._escaped = False
            return position + 1
        match = _STRING_STOP.search(text, position)
        if match is None:
            return len(text)
        if match.group() == "\\":
            self._escaped = True
        else:
            self._in_string = False
        return match.end()

    def _push(self, char: str) -> None:
        self._brackets.append(char)
        if len(self._brackets) > _DEEPEST:
            raise AnswerSyntax(f"the answer nests deeper than {_DEEPEST}")
        if len(self._brackets) > MAX_WRITTEN_DEPTH:
            self._capture.refuse(f"it nests deeper than {MAX_WRITTEN_DEPTH}")

    def _pop(self, char: str) -> bool:
        if _CLOSING[self._brackets.pop()] != char:
            raise AnswerSyntax(f"{char!r} closes what it did not open, in {self._key!r}")
        return not self._brackets

    def _complete(self, text: str, start: int, end: int) -> Element | Member | None:
        self._capture.add(text[start:end])
        capture, self._capture = self._capture, _Capture()
        mode = self._mode
        if mode is _Mode.IN_KEY:
            self._enter_key(capture.text)
            return None
        if mode is _Mode.IN_ITEM:
            self._mode = _Mode.AFTER_ITEM
            self._items += 1
            return Element(self._items - 1, capture.text.strip(), capture.refused)
        self._mode = _Mode.AFTER
        name = self._key
        if name == "calls":
            raise AnswerSyntax("'calls' is not a list")
        if name in ("output", "meta"):
            return Member(name, capture.text.strip(), capture.refused)
        return None

    def _enter_key(self, key: str) -> None:
        try:
            self._key = str(json.loads(key))
        except json.JSONDecodeError as error:
            raise AnswerSyntax(f"a key of the answer is not JSON: {error.msg}") from None
        if self._key in self._keys:
            raise AnswerSyntax(f"{self._key!r} occurs twice in the answer")
        self._keys.add(self._key)
        self._mode = _Mode.COLON


class _Capture:
    """The pieces of one value, dropped once it is refused."""

    __slots__ = ("is_kept", "length", "news", "pieces", "refused")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self.refused: str | None = None
        self.is_kept = True
        self.news: list[str] | None = None

    def add(self, piece: str) -> None:
        self.length += len(piece)
        if self.length > MOST_CHARACTERS:
            self.refuse(f"it is longer than {MOST_CHARACTERS} characters")
        if self.is_kept:
            self.pieces.append(piece)
            if self.news is not None:
                self.news.append(piece)

    def refuse(self, reason: str) -> None:
        self.refused, self.is_kept = self.refused or reason, False
        self.pieces.clear()

    def take_new(self) -> str:
        """The text added since the last call."""
        if not self.news:
            return ""
        text = "".join(self.news)
        self.news.clear()
        return text

    @property
    def text(self) -> str:
        """The text of the value so far."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""
