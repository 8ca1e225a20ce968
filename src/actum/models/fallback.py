"""Several models in place of one: the first that is available and doesn't decline answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from ..errors import ModelError
from ..generation.model import Model, ModelRequest, Reasoning, Usage, closing
from ..generation.model_chain import DOWN, chain_of
from ..generation.request_media import Takes, takes_of
from .providers import load


class Fallback:
    """Asks the first model; where that is down (after its own retries) or declines to answer, the next one.

    A run stays with the model that has answered. What a failed model had begun is taken back, except calls that have
    started, which aren't made twice. Each model gets the schema in the form that its provider takes. A fallback shows
    in `Retried` with the error, in `RequestFinished.model`, and in `Usage.fallbacks`.

    `models` are models, or their names as `load` takes them.

    Raises:
        ValueError: there are none.
        ModelError: as `load`.
    """

    def __init__(self, models: Sequence[Model | str]) -> None:
        loaded = [load(model) if isinstance(model, str) else model for model in models]
        self.chain: tuple[Model, ...] = tuple(inner for model in loaded for inner in chain_of(model))
        """The models, in the order in which they are asked."""
        if not self.chain:
            raise ValueError("a Fallback needs at least one model")

    @property
    def name(self) -> str:
        """The names of the models."""
        return " or ".join(model.name for model in self.chain)

    @property
    def dialect(self) -> Any:
        """The dialect of the first model."""
        return getattr(self.chain[0], "dialect", None)

    @property
    def takes(self) -> Takes:
        """What the first model takes in addition to text."""
        return takes_of(self.chain[0])

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        """Yield the answer of the first model that gives one, for callers that need only a stream.

        A run asks the models of the `chain` itself, since only it can compose the request anew for each.

        Raises:
            ModelError: the last model's, or one that another model wouldn't help with, or after an answer had begun.
        """
        for model in self.chain:
            has_begun = False
            try:
                async with closing(model.stream(request)) as deltas:
                    async for delta in deltas:
                        has_begun = has_begun or not isinstance(delta, Reasoning)
                        yield delta
                return
            except ModelError as error:
                if has_begun or error.code not in DOWN or model is self.chain[-1]:
                    raise

    async def aclose(self) -> None:
        """Close all of its models."""
        for model in self.chain:
            if (close := getattr(model, "aclose", None)) is not None:
                await close()
