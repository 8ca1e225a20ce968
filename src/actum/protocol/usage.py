"""What requests cost, in counts and money (L5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What requests cost. A count or price that is not known is None, never zero (L5).

    `saved_usd` is what the provider's prompt cache has saved, what filling it has cost included: less than nothing
    where that wasn't worth it. `fallbacks` of the requests went to another model than the first (`models.Fallback`).
    """

    requests: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    usd: float | None = None
    saved_usd: float | None = None
    fallbacks: int = 0

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
        found: dict[str, Any] = {}
        for name in self.__slots__:
            mine, others = getattr(self, name), getattr(other, name)
            found[name] = None if mine is None or others is None else mine + sign * others
        return Usage(**found)

    @property
    def tokens(self) -> int | None:
        """Input and output tokens together, None if either is unknown."""
        told = self.input_tokens, self.output_tokens
        return None if told[0] is None or told[1] is None else told[0] + told[1]
