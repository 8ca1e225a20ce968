"""The text of an answer as it arrives: every element of `calls` the moment its brace closes, in one pass (L1, L3).

It finds where values begin and end; whoever decodes them judges what is in them. Memory holds the value being read
and nothing before it. Code fences and chatter around the answer are passed over.

Most deltas are a few characters of a call that can't end in them: those are put by until one comes that closes
something, and are then read together.
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
"""How many blanks in a row an answer may have: a decoder that allows any number leaves some nothing else (W30)."""
_MOST_AT_ONCE = 64 * 1024
"""How much of a call is put by, and looked through for its end at once; longer ones are read piece by piece."""

Name: TypeAlias = Literal["calls", "output", "meta"]


class AnswerSyntax(ValueError):
    """The text is not an answer; the message says where it stops being one."""


class Element(NamedTuple):
    """The text of the element of `calls` at an index, or why it was not kept."""

    at: int
    text: str
    refused: str | None = None


class Member(NamedTuple):
    """The text of `output` or `meta`, or why it was not kept."""

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


_BEHIND = {",": _Mode.ITEM, "]": _Mode.AFTER, None: _Mode.AFTER_ITEM}
"""The mode after a whole call, by what follows it."""
_CLOSING = {"{": "}", "[": "]"}
_VISIBLE = re.compile(r"\S")
_STRUCTURE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\],]', re.DOTALL)
"""A string that is whole, or one character of JSON's; possessive, so that a string that isn't whole is read once."""
_WHOLE = re.compile(
    r"""\s*+(\{[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+\})(?:\s*+([,\]]))?+""", re.DOTALL
)
"""An object without containers in it, as most calls are, and what follows it in a list if that is there."""
_STRING_STOP = re.compile(r'["\\]')
_KNOWN = ("calls", "output", "meta")


class AnswerParser:
    """Feed it deltas; it yields what each completes. `finish` says whether that was an answer."""

    def __init__(self) -> None:
        self.partial_output = _Capture()
        self._is_followed = False
        self._mode = _Mode.SEEK
        self._open: list[str] = []
        self._in_string = self._escaped = False
        self._capture: _Capture | None = None
        self._key = ""
        self._seen: set[str] = set()
        self._items = 0
        self.signs = 0
        """How many texts, brackets and commas have been read one by one: what the work is that reading took."""
        self._aside: list[str] = []
        self._aside_length = 0
        self._blanks = 0

    def feed(self, text: str) -> Iterable[Element | Member]:
        """Take in the next piece of text and yield what it completes.

        Raises:
            AnswerSyntax: the answer is not JSON of its form.
            SolutionError: it is nothing but blanks any more.
        """
        self._blanks = (self._blanks if text.isspace() else 0) + len(text) - len(text.rstrip())
        if self._blanks > MOST_BLANKS and self._mode is not _Mode.DONE:
            raise SolutionError(f"the answer was cut: it went on in blanks, {MOST_BLANKS} of them")
        if _Mode.ITEM <= self._mode < _Mode.DONE and self._can_wait(text):
            self._put_by(text)
            return ()
        if self._aside:
            text = "".join((*self._aside, text))
            self._aside.clear()
            self._aside_length = 0
        return self._read(text)

    def _can_wait(self, text: str, position: int = 0) -> bool:
        """Whether no call can end in what follows, and it is not too much to put by."""
        length = self._aside_length + len(text) - position
        return length <= _MOST_AT_ONCE and text.find("}", position) < 0 and text.find("]", position) < 0

    def _put_by(self, text: str) -> None:
        self._aside.append(text)
        self._aside_length += len(text)

    def _read(self, text: str) -> Iterator[Element | Member]:
        position = 0
        while position < len(text):
            mode = self._mode
            if mode is _Mode.IN_ITEM or mode is _Mode.IN_VALUE or mode is _Mode.IN_KEY:
                position, done = self._inside(text, position)
                if done is not None:
                    yield done
            elif mode is _Mode.DONE:
                return
            elif mode is _Mode.ITEM and (whole := _WHOLE.match(text, position, position + _MOST_AT_ONCE)):
                self._mode = _BEHIND[whole[2]]
                self._items += 1
                position = whole.end()
                yield Element(self._items - 1, whole[1])
            elif mode is _Mode.ITEM and self._can_wait(text, position):
                self._put_by(text[position:])
                return
            else:
                position = self._between(text, position)

    @property
    def has_calls(self) -> bool:
        """Whether `calls` has begun; where anything stands behind it, all of them are there."""
        return "calls" in self._seen

    def follow_output(self) -> None:
        """Keep what arrives of `output` for `new_output`."""
        self._is_followed = True

    def new_output(self) -> str:
        """What has arrived of the text of `output` since this was asked last."""
        return self.partial_output.taken() if self._is_followed else ""

    def finish(self) -> None:
        """The text has ended.

        Raises:
            AnswerSyntax: it ended too soon.
        """
        if self._mode is _Mode.SEEK:
            raise AnswerSyntax("there is no JSON object with 'calls' and 'output' in the answer")
        if self._mode is not _Mode.DONE:
            where = f" inside {self._key!r}" if self._key else ""
            raise AnswerSyntax(f"the answer ends{where} before its object is closed")

    def _between(self, text: str, position: int) -> int:  # noqa: PLR0912 -- a table of states
        """Read one character between values; what it may be depends on what came before."""
        if self._mode is _Mode.SEEK:
            start = text.find("{", position)
            if start < 0:
                return len(text)
            self._restart()
            return start + 1
        match = _VISIBLE.search(text, position)
        if match is None:
            return len(text)
        char, position = match.group(), match.start()
        match self._mode, char:
            case _Mode.OPENED | _Mode.KEY, '"':
                self._begin(_Mode.IN_KEY)
                return position
            case _Mode.OPENED | _Mode.AFTER, "}":
                self._close_root()
            case _Mode.OPENED, _:
                self._mode = _Mode.SEEK
                return position
            case _Mode.COLON, ":":
                self._mode = _Mode.VALUE
            case _Mode.VALUE, "[" if self._key == "calls":
                self._mode = _Mode.ITEM
            case _Mode.VALUE, _ if char not in ",:}]":
                self._begin(_Mode.IN_VALUE)
                return position
            case _Mode.AFTER, ",":
                self._mode, self._key = _Mode.KEY, ""
            case _Mode.ITEM, "]" if self._items == 0:
                self._mode = _Mode.AFTER
            case _Mode.ITEM, _ if char not in ",:}]":
                self._begin(_Mode.IN_ITEM)
                return position
            case _Mode.AFTER_ITEM, ",":
                self._mode = _Mode.ITEM
            case _Mode.AFTER_ITEM, "]":
                self._mode = _Mode.AFTER
            case _ if self._seen.isdisjoint(_KNOWN):  # not JSON at all: chatter with a brace in it
                self._mode = _Mode.SEEK
                return position
            case _:
                where = f" in {self._key!r}" if self._key else ""
                raise AnswerSyntax(f"unexpected {char!r}{where}: the answer is not JSON")
        return position + 1

    def _restart(self) -> None:
        self._mode, self._items, self._key = _Mode.OPENED, 0, ""
        self._seen.clear()

    def _close_root(self) -> None:
        if self._seen.isdisjoint(_KNOWN):  # an object in the chatter before the answer
            self._mode = _Mode.SEEK
        else:
            self._mode = _Mode.DONE

    def _begin(self, mode: _Mode) -> None:
        self._mode = mode
        self._capture = _Capture()
        self._open.clear()
        if mode is _Mode.IN_VALUE:
            if self._key == "output":
                self.partial_output = self._capture
                if self._is_followed:
                    self._capture.news = []
            self._capture.is_kept = self._key in _KNOWN

    def _inside(self, text: str, start: int) -> tuple[int, Element | Member | None]:
        """Read on inside a value; return where reading stopped and, if the value ended there, what it was."""
        position = start
        while position < len(text):
            if self._in_string:
                position = self._through_string(text, position)
                if self._in_string or self._open:
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
                if not self._open:
                    return position, self._complete(text, start, position)
            elif char in _CLOSING:
                self._push(char)
            elif not self._open:  # a scalar ends before the comma or bracket behind it
                return position - 1, self._complete(text, start, position - 1)
            elif char != "," and self._pop(char):
                return position, self._complete(text, start, position)
        self._keep(text[start:position])
        return position, None

    def _through_string(self, text: str, position: int) -> int:
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
        self._open.append(char)
        if len(self._open) > _DEEPEST:
            raise AnswerSyntax(f"the answer nests deeper than {_DEEPEST}")
        if len(self._open) > MAX_WRITTEN_DEPTH and self._capture is not None:
            self._capture.refuse(f"it nests deeper than {MAX_WRITTEN_DEPTH}")

    def _pop(self, char: str) -> bool:
        if _CLOSING[self._open.pop()] != char:
            raise AnswerSyntax(f"{char!r} closes what it did not open, in {self._key!r}")
        return not self._open

    def _keep(self, piece: str) -> None:
        if self._capture is not None:
            self._capture.add(piece)

    def _complete(self, text: str, start: int, end: int) -> Element | Member | None:
        self._keep(text[start:end])
        capture, self._capture = self._capture, None
        assert capture is not None
        mode = self._mode
        if mode is _Mode.IN_KEY:
            self._enter(capture.text)
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

    def _enter(self, key: str) -> None:
        try:
            self._key = str(json.loads(key))
        except json.JSONDecodeError as error:
            raise AnswerSyntax(f"a key of the answer is not JSON: {error.msg}") from None
        if self._key in self._seen:
            raise AnswerSyntax(f"{self._key!r} occurs twice in the answer")
        self._seen.add(self._key)
        self._mode = _Mode.COLON


class _Capture:
    """The pieces of one value, given up once it is refused."""

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

    def taken(self) -> str:
        """What has been added since this was asked last."""
        if not self.news:
            return ""
        text = "".join(self.news)
        self.news.clear()
        return text

    @property
    def text(self) -> str:
        """What has arrived of the value."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""
