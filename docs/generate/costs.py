"""The page about what providers' caches save: from what runs were recorded to count (`python -m tests.models.costs`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from genai_prices import Usage, calc_price
from markup import code, table

RECORD = Path(__file__).parents[2] / "tests" / "models" / "costs.json"
MODELS: Mapping[str, tuple[str, str]] = {
    "openai": ("openai", "gpt-5.2"),
    "openai-responses": ("openai", "gpt-5.2"),
    "anthropic": ("anthropic", "claude-sonnet-4-5"),
    "google": ("google", "gemini-2.5-flash"),
}
"""By wire, the provider and the model whose listed price is taken."""


def page() -> str:
    """What runs 1, 2 and 100 of an agent pay for their input, by wire and shape."""
    recorded: Mapping[str, Mapping[str, list[list[int]]]] = json.loads(RECORD.read_text(encoding="utf-8"))
    rows = [
        (code(f"{name}:{MODELS[name][1]}"), shape, f"${1000 * _usd(name, 0, 0, counts[0][2]):.2f}",
         *(f"${1000 * _usd(name, *count):.2f}" for count in counts))
        for name, shapes in recorded.items()
        if name in MODELS
        for shape, counts in shapes.items()
    ]  # fmt: skip
    return "\n".join([
        "# What caches save\n",
        "Providers keep what requests begin with, and read it again for less. An agent's runs all begin with the same "
        "bytes, and of a run's requests each begins as the one before. This is what the input of a thousand runs costs "
        "that are all as run 1, 2 or 100 of an agent with 1,800 tokens of instructions, in one process.\n",
        table(["model", "a run is", "without a cache", "as run 1", "as run 2", "as run 100"], rows),
        "It is worked out of requests as they were sent to a server on loopback, by each provider's rules, their listed "
        "prices and the tokens of one tokenizer for all; what the provider counts is in `Result.usage`. Where writing to "
        "the cache is charged (Anthropic), a run that makes one request doesn't pay for it the first time: nobody knows "
        "yet that there will be a second. Hosts with grammars of their own keep prefixes by themselves, and charge nothing "
        "for it. A model that charges otherwise is given its price: `models.load(…, price=Price(…))`.\n",
    ])  # fmt: skip


def _usd(name: str, read: int, written: int, whole: int) -> float:
    provider, model = MODELS[name]
    counted = Usage(input_tokens=whole, cache_read_tokens=read, cache_write_tokens=written)
    return float(calc_price(counted, model, provider_id=provider).total_price)
