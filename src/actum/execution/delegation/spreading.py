"""Calls as runs of their own, carried out on whatever machine has room for them: `Config(spread=…)`.

Which calls these are and what such a run begins with is decided here; who carries it out is for whoever keeps runs. The
run that has made the call doesn't wait for it: it ends as waiting, and goes on when its children are over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ...dataflow.reference import Reference
from ...errors import (
    OUTCOMES,
    ActivityError,
    ActumError,
    DelegateDepthExceeded,
    DelegateError,
    DelegateForbidden,
    DelegateNotFound,
    LimitExceeded,
    NotInValue,
    Outcome,
    PlanFailed,
    PlanLeft,
)
from ...protocol.approvals import approval
from ...protocol.call import Call
from ...protocol.catalog import Catalog
from ...protocol.config import Limits
from ...protocol.context import Context
from ...protocol.message import OF
from ...protocol.tool import Tool
from ...schema.json import Json, JsonObject, is_object
from ..budget import Spent
from .resolver import SavedRequest

_OF_DELEGATES = (DelegateError, DelegateNotFound, DelegateForbidden, DelegateDepthExceeded, NotInValue)
_OF_PLANS = (PlanFailed.code, PlanLeft.code)
_KEPT = ("_activity", "_delegate")
"""The meta-properties of a call that go with it into a run of its own; the others say what becomes of its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A call that is to be a run of its own: what that begins with, and what it runs in."""

    place: str
    """Where the call is, from the run that asks for it: `0.0`, in a delegate `0.0/1.2`."""
    context: Sequence[JsonObject]
    schema: Any
    origin: str | None
    lineage: Sequence[JsonObject]
    """The delegates that led to it from the outermost run on, each as JSON (`Ancestor`)."""
    limits: Limits
    """What is left to spend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What has become of such a run: an output, or an error as JSON."""

    output: Json = None
    error: JsonObject | None = None
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A delegate that led to a run, by its name, and of its saved request what bounds it and those below it."""

    name: str
    found: SavedRequest
    tools: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Those that the messages of its context define, each with whether these are its own, or have crossed (D13)."""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Ancestor:
        """The same from JSON."""
        roots = None if told["roots"] is None else [Path(root) for root in told["roots"]]
        origin = Context((), origin=told["origin"])
        found = SavedRequest(context=origin, config=told["config"], is_foreign=told["is_foreign"], roots=roots)
        return cls(told["name"], found, told.get("tools", {}))

    def to_dict(self) -> JsonObject:
        """The same as JSON."""
        found = self.found
        roots = None if found.roots is None else [str(root) for root in found.roots]
        bounds: JsonObject = {"config": dict(found.config), "is_foreign": found.is_foreign, "roots": roots}
        return {"name": self.name, "origin": found.context.origin, "tools": dict(self.tools), **bounds}


Spread: TypeAlias = Callable[[Child], Awaitable[Ended | str]]
"""Has a call carried out as a run of its own: what that has come to, or its id while it is under way. The same call
twice is one run."""


def context_of_item(call: Call, tool: Tool, scoped: Context, scopes: Sequence[str], registry: Catalog) -> Context:
    """What a run begins with that makes one call, for an item of a list: a plan of that call alone.

    Its values are data beside the plan, so that nothing in them is read as a reference (E3). It was approved where the
    list was (L6).
    """
    kind = _free_kind(scoped)
    meta: JsonObject = {key: call[key] for key in _KEPT if key in call}
    given = {name: str(Reference(kind, (name,))) for name in call.parameters}
    made: JsonObject = {"_tool": tool.name, **given, **meta, **({"_scopes": list(scopes)} if scopes else {})}
    own = [] if registry.find(tool.name) is tool else [{"type": "tool", "tool": {tool.name: dict(tool.schema)}}]
    data: JsonObject = {"type": "data", "kind": kind, "data": dict(call.parameters)}
    plan: JsonObject = {"type": "plan", "plan": [made], "output": "†calls.0", OF: "0"}
    messages = [*own, *scoped, data, plan, approval("0.0", made, "approve")]
    return Context.checked(messages, scoped.data_kinds, scoped.origin)


def _free_kind(scoped: Context) -> str:
    """A name for the values of a call that nothing else in its context has."""
    taken = {str(message.get(key)) for message in scoped for key in ("type", "kind")} | set(scoped.data_kinds)
    return next(name for number in range(len(taken) + 1) if (name := f"item{number or ''}") not in taken)


def failure_of(error: JsonObject, tool: Tool, *, is_item: bool) -> ActumError:
    """Why a run of its own has failed, for the call that it was: of a delegate's error only the kind crosses (D11)."""
    code, message = str(error.get("code")), str(error.get("message"))
    data: Any = error.get("data") or {}
    if code in _OF_PLANS and is_object(cause := data.get("cause")):
        found = failure_of(cause, tool, is_item=is_item)
        outcome: Outcome | None = next((one for one in OUTCOMES if one == data.get("outcome")), None)
        found.outcome = outcome or found.outcome
        return found
    if code == LimitExceeded.code:
        return LimitExceeded(message, limit=str(data.get("limit")))
    kind = next((one for one in _OF_DELEGATES if one.code == code), None)
    if kind is None and is_item:
        return ActivityError(message.removeprefix(f"tool {tool.name!r}: "), tool=tool.name)
    if kind is None:
        return crossed(code, data, tool)
    own = message.removeprefix(f"tool {error.get('tool')!r}: ")
    reason = own.rpartition(" failed: ")[2] if "chain" in data else own
    return kind(reason, tool=tool.name, chain=data.get("chain", ()))


def crossed(code: str, data: Mapping[str, Any], tool: Tool) -> DelegateError:
    """An error inside of a delegate as its caller is told of it: its kind, or the delegates that it came from (D11)."""
    cause: Any = data.get("cause")
    found = failure_of(cause, tool, is_item=False) if is_object(cause) else None
    return found if isinstance(found, DelegateError) else DelegateError(code, tool=tool.name)
