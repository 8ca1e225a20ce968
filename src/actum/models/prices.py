"""What requests cost in US dollars: by the price that was given for a model, else by the one that is listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..generation.model import Usage
from ..schema.quoting import names_nearest

_LISTED: Mapping[str, str] = {"openai-responses": "openai", "xai": "x-ai", "bedrock": "aws", "google-cloud": "google"}
"""The price list's names of providers, where they differ."""


@names_nearest
@dataclass(frozen=True, kw_only=True)
class Price:
    """What a model costs, in US dollars for a million tokens.

    `input` and `output` are for what it is sent and writes; `cached` for input that the provider had kept, `write` for
    input that it keeps: as `input` where they aren't given. `Price.FREE` is for models of one's own.
    """

    input: float
    output: float
    cached: float | None = None
    write: float | None = None

    FREE: ClassVar[Price]

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached", "write"):
            value: Any = getattr(self, name)
            if value is None and name in {"cached", "write"}:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ValueError(f"{name} must be a price that is not negative, not {value!r}")

    def usd(self, usage: Usage) -> float | None:
        """The price of a request with this usage; None if its tokens weren't counted."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, usage.input_tokens - cached - written)
        read = cached * (self.input if self.cached is None else self.cached)
        write = written * (self.input if self.write is None else self.write)
        return (plain * self.input + read + write + usage.output_tokens * self.output) / 1_000_000


Price.FREE = Price(input=0, output=0)


def priced(usage: Usage, provider: str, model: str, given: Price | None) -> Usage:
    """A usage with its price, and what the provider's cache saved, as far as they are known (W20, W21)."""
    usd = _usd(usage, provider, model, given)
    if usd is None:
        return usage
    full = _usd(replace(usage, cached_tokens=None, cache_write_tokens=None), provider, model, given)
    return replace(usage, usd=usd, saved_usd=None if full is None else full - usd)


def is_known(provider: str, model: str, given: Price | None) -> bool:
    """Whether it is known what a model costs."""
    return _usd(Usage(requests=1, input_tokens=1, output_tokens=1), provider, model, given) is not None


def _usd(usage: Usage, provider: str, model: str, given: Price | None) -> float | None:
    if given is not None:
        return given.usd(usage)
    if usage.input_tokens is None:
        return None
    try:
        import genai_prices
    except ImportError:
        return None
    spent = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        cost = genai_prices.calc_price(spent, model, provider_id=_LISTED.get(provider, provider))
        return float(cost.total_price)
    except (LookupError, ValueError):
        # No price is listed for the model, or the usage isn't enough to compute it.
        return None
