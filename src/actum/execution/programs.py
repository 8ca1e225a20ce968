"""Plans that no model wrote: one with an output is a program, and fails instead of being improvised (P5)."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import PlanFailed, PlanLeft, UnresolvedReference
from ..generation.offer import Toolset
from ..protocol.call import EXPECT
from ..protocol.marks import Marks
from ..protocol.message import OUTCOME, is_skip
from ..protocol.place import Place
from ..schema.json import JsonObject, is_object
from .job import Failure


def plan_failure(failures: Sequence[Failure]) -> PlanFailed:
    """The error of a program whose output is withheld; its cause is the first, in the order of places."""
    first = next((one for one in failures if one.call is None and one.job is None), None) or min(failures, key=_rank)
    more = sum(not _is_consequence(one) for one in failures if one is not first)
    rest = f"; and {more} more failed" if more else ""
    kind = PlanLeft if _is_expectation(first) else PlanFailed
    error = kind(
        f"the plan's output is withheld: {first.error.message}{rest}",
        data={"cause": first.error.to_dict(), "outcome": first.outcome},
    )
    error.__cause__, error.result = first.error, first.error.result
    return error


def _rank(failure: Failure) -> tuple[bool, bool, int, int]:
    place = Place.parse(failure.of)
    return _is_consequence(failure), _is_expectation(failure), place.answer, place.index or 0


def _is_consequence(failure: Failure) -> bool:
    """Whether a call was not made only because another has failed."""
    return isinstance(failure.error, UnresolvedReference) and failure.error.is_consequence


def _is_expectation(failure: Failure) -> bool:
    return failure.call is not None and EXPECT in failure.call


def had_effects(number: int, marks: Marks, messages: Sequence[JsonObject], toolset: Toolset) -> bool:
    """Whether a call of a plan had begun before this run that doesn't only read; of a delegate nobody knows it."""
    places = [place for place in marks.left if place.answer == number]
    left = [messages[at] for place in places for at in marks.left[place]]
    return any(_had_effect(message, toolset) for message in left if not is_skip(message))


def _had_effect(message: JsonObject, toolset: Toolset) -> bool:
    call = message.get("_call") or message.get("call")
    if not is_object(call) or "_tool" not in call or message.get(OUTCOME) == "not made":
        return False
    tool = toolset.tools.get(str(call["_tool"]))
    return tool is None or not (tool.effects == "none" or toolset.is_latent(tool))
