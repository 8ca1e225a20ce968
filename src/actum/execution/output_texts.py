"""The strings of one answer's output as events: provisional while it can still be withheld, then for good (O9)."""

from __future__ import annotations

from collections import defaultdict

from ..dataflow.arriving import strings_in
from ..dataflow.reference import Path, print_path
from ..events import TextDelta
from ..schema.json import Json
from .emitter import Emitter


class Texts:
    """Tells every character once as provisional, unless it is certain already, and once for good."""

    def __init__(self, emit: Emitter) -> None:
        self._emit = emit
        self._arrived: defaultdict[Path, int] = defaultdict(int)
        """How many characters of each string have arrived."""
        self._delivered: defaultdict[Path, int] = defaultdict(int)
        """How many of them have been told for good."""
        self._kept: dict[Path, list[str]] = {}
        """What has been told as provisional only."""

    def grow(self, path: Path, text: str, *, is_certain: bool) -> None:
        """A string has grown; `is_certain`: what has arrived can't be withheld any more."""
        self._arrived[path] += len(text)
        if is_certain:
            for at, kept in self._kept.items():
                self._tell(at, "".join(kept), provisional=False)
            self._kept.clear()
        else:
            self._kept.setdefault(path, []).append(text)
        self._tell(path, text, provisional=not is_certain)

    def complete(self, shown: Json) -> None:
        """The output has arrived, of which this can be shown: tell what has not been told of it."""
        for path, text in strings_in(shown):
            if rest := text[self._arrived[path] :]:
                self.grow(path, rest, is_certain=False)

    def deliver(self, output: Json) -> None:
        """The output is delivered: tell for good what has not been told so."""
        for path, text in strings_in(output):
            if rest := text[self._delivered[path] :]:
                self._tell(path, rest, provisional=False)
        self._kept.clear()

    def _tell(self, path: Path, text: str, *, provisional: bool) -> None:
        if not provisional:
            self._delivered[path] += len(text)
        self._emit(TextDelta(member=print_path(path).removeprefix("."), text=text, provisional=provisional))
