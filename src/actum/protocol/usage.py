"""What requests cost, in counts and money (L5)."""

from __future__ import annotations

from dataclasses import dataclass


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
        return Usage(
            requests=self.requests + other.requests,
            fallbacks=self.fallbacks + other.fallbacks,
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            cached_tokens=_sum(self.cached_tokens, other.cached_tokens),
            usd=None if self.usd is None or other.usd is None else self.usd + other.usd,
            saved_usd=None if self.saved_usd is None or other.saved_usd is None else self.saved_usd + other.saved_usd,
        )

    @property
    def tokens(self) -> int | None:
        """Input and output tokens together, None if either is unknown."""
        return _sum(self.input_tokens, self.output_tokens)


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right
