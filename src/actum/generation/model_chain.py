"""Which of several models a request goes to: the next one where one is down or declines.

How a schema is sent is a matter between the runtime and a model's provider, so a request that goes to another model is
composed for that one: the ladder of forms (see `actum.schema.lowering`) begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ModelError

if TYPE_CHECKING:
    from .compile import Frame
    from .model import Model

DOWN = frozenset(
    {"model_timeout", "model_connection", "model_rate_limit", "model_quota", "model_server", "model_refused"}
)
"""The codes of errors after which another model is asked: others would be the same with every model, or are mistakes
of whoever set it up, which should be seen."""


def chain_of(model: Model) -> Sequence[Model]:
    """The models that stand for this one, in the order in which they are asked; itself where there are no others."""
    chain: Sequence[Model] = getattr(model, "chain", ())
    return chain or (model,)


def unsent(model: Model | None, settings: Mapping[str, Any]) -> list[str]:
    """What isn't sent of these settings, as `Result.notes` says it, model by model (W10)."""
    return [
        f"{one.name} isn't sent the setting {name!r}"
        for one in (() if model is None or not settings else chain_of(model))
        if (ignored := getattr(one, "ignored", None)) is not None
        for name in ignored(settings)
    ]


def speaker(model: Model, frame: Frame) -> Model:
    """The model that requests of this frame go to."""
    return chain_of(model)[frame.speaker]


def next_frame(model: Model, frame: Frame, error: ModelError) -> Frame | None:
    """The frame in which a request that failed so is made again at once: in another form or for another model."""
    if error.schema_refused and (lower := frame.lower()) is not None:
        return lower
    chain, after = chain_of(model), frame.speaker + 1
    if error.code not in DOWN or after >= len(chain):
        return None
    return frame.spoken_to(chain[after], after)
