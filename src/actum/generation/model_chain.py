"""Chooses which of several models a request goes to: the next one if one is down or declines.

How a schema is sent depends on the model's provider, so a request to another model is composed anew for that model,
from the top of the ladder of forms (see `actum.schema.lowering`).
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
"""The codes of errors after which another model is asked: other errors would occur with every model, or are mistakes in
the setup, which should be seen."""


def chain_of(model: Model) -> Sequence[Model]:
    """The models behind this one, in the order in which they are asked; itself if there are none."""
    chain: Sequence[Model] = getattr(model, "chain", ())
    return chain or (model,)


def unsent(model: Model | None, settings: Mapping[str, Any]) -> list[str]:
    """Notes for `Result.notes` on each of these settings that a model isn't sent (W10)."""
    return [
        f"{member.name} isn't sent the setting {name!r}"
        for member in (() if model is None or not settings else chain_of(model))
        if (ignored := getattr(member, "ignored", None)) is not None
        for name in ignored(settings)
    ]


def speaker(model: Model, frame: Frame) -> Model:
    """The model that requests of this frame go to."""
    return chain_of(model)[frame.speaker]


def next_frame(model: Model, frame: Frame, error: ModelError) -> Frame | None:
    """The frame for repeating a request at once after this error: one rung lower or for another model."""
    if error.schema_refused and (lower := frame.lower()) is not None:
        return lower
    chain, after = chain_of(model), frame.speaker + 1
    if error.code not in DOWN or after >= len(chain):
        return None
    return frame.spoken_to(chain[after], after)
