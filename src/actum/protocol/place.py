"""The place of a call: which element of which answer it is, down to items and into delegates (C9)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_NUMBER = "(0|[1-9][0-9]{0,8})"
_STEP = re.compile(rf"{_NUMBER}(?:\.{_NUMBER}(?:\.{_NUMBER})?)?")
MOST_STEPS = 64
"""How many delegates a place may lead through; far more than delegates may nest."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one call in its run; without an index, that of the answer itself.

    `answer` is the number of the answer, `index` the element of its `calls`, `item` the item of an `_each`; `inner` is
    the place within the delegate that the call leads to. Written as `3.0`, `3.0.17` and `3.0/1.2`.
    """

    answer: int
    index: int | None = None
    item: int | None = None
    inner: Place | None = None

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read a place.

        Raises:
            ValueError: the text is not a place.
        """
        place: Place | None = None
        for step in reversed(text.split("/", MOST_STEPS)):
            match = _STEP.fullmatch(step)
            if match is None or (place is not None and match[2] is None):  # only a call leads to a delegate
                break
            place = Place(int(match[1]), _optional(match[2]), _optional(match[3]), place)
        else:
            if place is not None:
                return place
        raise ValueError(f"{text[:100]!r} is not a place, for example 3.0")

    def __str__(self) -> str:
        text = str(self.answer) if self.index is None else f"{self.answer}.{self.index}"
        if self.item is not None:
            text = f"{text}.{self.item}"
        return text if self.inner is None else f"{text}/{self.inner}"

    def of_item(self, item: int) -> Place:
        """The place of the call for one item, of the call for all of them."""
        return Place(self.answer, self.index, item)

    def below(self, inner: Place) -> Place:
        """The place `inner` of the delegate that the call at this place leads to, as the run around it names it."""
        return replace(self, inner=inner if self.inner is None else self.inner.below(inner))

    @property
    def parent(self) -> Place | None:
        """The place of the call for all items, of the call for one of them; None for any other."""
        if self.inner is None:
            return None if self.item is None else replace(self, item=None)
        inner = self.inner.parent
        return None if inner is None else replace(self, inner=inner)


def is_place(text: object) -> bool:
    """Whether a value is a place as text."""
    try:
        Place.parse(str(text))
    except ValueError:
        return False
    return isinstance(text, str)


def _optional(number: str | None) -> int | None:
    return None if number is None else int(number)
