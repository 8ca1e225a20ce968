"""What a tool's function is given of the run that calls it, as its first parameter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, get_origin

from typing_extensions import TypeVar

from .context import Progress, unheard
from .usage import Usage

if TYPE_CHECKING:
    from .approvals import Decision

# A `Ctx`, an `Agent` or `Tools` without a type have deps of any.
Deps_co = TypeVar("Deps_co", covariant=True, default=Any)
Deps = TypeVar("Deps", default=Any)


@dataclass(frozen=True, slots=True)
class Ctx(Generic[Deps_co]):
    """What a tool's function that takes `ctx: Ctx[Deps]` first is given of its run; no model is told of it.

    An agent's instructions are given one as well, with `deps` alone.

    Args:
        deps: what the run was given as `deps`, None where it was given nothing.
        place: where the call stands in its run, for example "0.2": the third call of the first answer.
        key: the idempotency key of the call, the same whenever it is made again.
        usage: what the run had cost when the call began.
        progress: tells how far the call is: `ctx.progress(3, 10, "reading")`.
        approval: how the call was approved, with the `reason` if there is one, and the call that runs in its place as
            `replacement`; None where nobody was asked.
    """

    deps: Deps_co = None  # pyright: ignore[reportAssignmentType] -- a run that was given nothing
    place: str = ""
    key: str = ""
    usage: Usage = field(default_factory=Usage)
    progress: Progress = unheard
    approval: Decision | None = None


def is_ctx(hint: object) -> bool:
    """Whether an annotation is `Ctx`, with a type or without."""
    return Ctx in (hint, get_origin(hint))
