"""What requests cost, in counts and money."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from ..schema.json import JsonObject, is_object

_MOST = 2**53
"""No run comes to as many tokens, or as much money."""
_NUMBERS = frozenset({int, float})
_COUNTS = (
    "requests", "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens", "fallbacks",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What requests cost. A count or price that is not known is None, never zero; nor is one known that can't be:
    a negative count, a price that is not a number. It may come from a provider, a recording, or a program of others.

    `saved_usd` is what the provider's prompt cache has saved, what filling it has cost included: less than nothing
    where that wasn't worth it. `cached_tokens` and `cache_write_tokens`, which the provider had kept and keeps now, are
    part of the input, `reasoning_tokens`, which the model has thought with, of the output. `fallbacks` of the requests
    went to another model than the first (`models.Fallback`).
    """

    requests: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    usd: float | None = None
    saved_usd: float | None = None
    fallbacks: int = 0
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 0 <= value < _MOST):
                object.__setattr__(self, name, None)
        for name in ("usd", "saved_usd"):
            value, least = getattr(self, name), 0 if name == "usd" else -_MOST
            if value is not None and (type(value) not in _NUMBERS or not least <= value < _MOST):
                object.__setattr__(self, name, None)
        for name in ("requests", "fallbacks"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, 0)

    @classmethod
    def of(cls, told: object) -> Usage:
        """The same from JSON that others may have written: nothing is known of what it doesn't say."""
        known: JsonObject = told if is_object(told) else {}
        return cls(**{count.name: known[count.name] for count in fields(cls) if known.get(count.name) is not None})

    def to_dict(self) -> JsonObject:
        """The same as JSON, without what isn't known."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}

    def __add__(self, other: Usage) -> Usage:
        if self.requests == 0:
            return other
        if other.requests == 0:
            return self
        return self._with(other, 1)

    def __sub__(self, other: Usage) -> Usage:
        if other.requests == 0:
            return self
        return Usage() if self.requests == other.requests else self._with(other, -1)

    def _with(self, other: Usage, sign: Literal[1, -1]) -> Usage:
        totals: dict[str, Any] = {}
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            totals[name] = None if mine is None or theirs is None else mine + sign * theirs
        return Usage(**totals)

    @property
    def tokens(self) -> int | None:
        """Input and output tokens together, None if either is unknown."""
        counts = self.input_tokens, self.output_tokens
        return None if counts[0] is None or counts[1] is None else counts[0] + counts[1]

    @property
    def known_tokens(self) -> int:
        """Input and output tokens together, as far as they are known."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)
