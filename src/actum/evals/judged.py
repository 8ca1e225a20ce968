"""A run as checks see it: its account with the case that it is of, and its calls in the order in which they began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from ..app.idea import Idea
from ..dataflow.expression import MISSING
from ..dataflow.fold import Fold
from ..dataflow.reference import Reference
from ..errors import IdeaError
from ..inspection.account import Account, account_of
from ..inspection.origins import calls_of
from ..inspection.wording import short
from ..protocol.call import Place
from ..protocol.context import Context
from ..protocol.solution import CallAccount
from ..schema.json import JsonObject
from .case import Case

KINDS = ("output", "expect", "input", "state", "usage", "called")
"""What an expression of a check may refer to."""


@dataclass(frozen=True, kw_only=True)
class JudgedRun(Account):
    """A run's `Account` with its `case`, and in `called` each call as `{tool, args, value, error, state, by, place,
    answer}`, in the order in which they began; items of an `_each` are calls of their own.

    `simulated` are the tools that a model has stood for.
    """

    case: Case
    missed: Sequence[JsonObject] = ()
    """Calls that were asked for and that nothing recorded could answer, as in `called`, with the state `missed`."""
    simulated: Sequence[str] = ()
    is_anew: bool = False
    """Whether its tools' results may have come from a record, so that its time says nothing."""
    failed: str | None = None
    """What ended it, where it has failed."""

    @cached_property
    def called(self) -> list[JsonObject]:
        """Its calls that were made, and those that were only asked for."""
        began = [(self._began(one), order, one) for order, one in enumerate(self.accounts) if one.state != "not made"]
        made = [_told(one) for _, _, one in sorted(began, key=lambda one: one[:2])]
        return made + [one for one in self.missed if one["tool"]]

    @cached_property
    def accounts(self) -> list[CallAccount]:
        """What each of its calls came to, in the order of their places."""
        return calls_of(self.idea)

    def _began(self, call: CallAccount) -> float:
        """When a call began; what isn't known is taken to be as early as can be."""
        seen = self.find(call.place) or self.find(str(Place.parse(call.place).parent or ""))
        return 0.0 if seen is None or seen.row.began is None else seen.row.began

    @property
    def has_output(self) -> bool:
        """Whether it has come to an output."""
        return self.output is not None

    @cached_property
    def values(self) -> JsonObject:
        """What expressions refer to, by kind; a kind that the run or the case doesn't have is MISSING."""
        given = Context.checked(self.given, self.idea.context.data_kinds, self.idea.context.origin)
        data = self.idea.context.data
        return {
            "output": self.output if self.has_output else MISSING,
            "expect": self.case.expect,
            "input": given.data.get("input", {}),
            "state": data.get("state", {}),
            "usage": self.spending,
            "called": self.called,
        }

    @cached_property
    def spending(self) -> JsonObject:
        """What it has cost: requests, tokens, US dollars and seconds; None for what isn't known."""
        seconds = None if self.began is None or self.ended is None or self.is_anew else self.ended - self.began
        own = self.usage
        tokens: JsonObject = {"input_tokens": own.input_tokens, "output_tokens": own.output_tokens}
        return {"requests": own.requests, **tokens, "usd": own.usd, "seconds": seconds}

    def read(self, reference: Reference) -> Any:
        """What a reference holds, or MISSING."""
        value = self.values[reference.kind]
        return MISSING if value is MISSING else Fold(value).read(reference.path)


def unfit_of(account: Account) -> str | None:
    """Why a run can't be judged yet; None if it can be."""
    if account.waiting or account.gates:
        return "it waits for a decision: only a run with an output or an error is a case"
    return None


def judged_run(idea: Idea, name: str, case: Case, **more: Any) -> JudgedRun:
    """A run as checks of a case see it: a kept one, or one that `is_anew`, and whose decisions nobody takes.

    Raises:
        IdeaError: no run is kept there, or not as a run writes it, or it waits for a decision.
    """
    own = account_of(idea, name)
    unfit = unfit_of(own)
    if unfit is not None and not more.get("is_anew"):
        raise IdeaError(f"{name}: {unfit}")
    if unfit is not None:
        waits = ", ".join([*(f"{one.of} {short(one.call)}" for one in own.waiting), *own.gates])
        more["missed"] = [*more.get("missed", ()), missed_call(f"it waits for a decision: {waits}")]
    return JudgedRun(**{one.name: getattr(own, one.name) for one in fields(Account)}, case=case, **more)


def missed_call(why: str, tool: str = "", arguments: JsonObject | None = None, place: str = "") -> JsonObject:
    """A call that a run has asked for, as `called` has it, and why nothing could answer it."""
    told: JsonObject = {"tool": tool, "args": arguments or {}, "value": None, "error": why}
    return {**told, "state": "missed", "by": "nobody", "place": place, "answer": None}


def _told(call: CallAccount) -> JsonObject:
    return {
        "tool": call.tool,
        "args": call.arguments,
        "value": call.value,
        "error": None if call.error is None else call.error.message,
        "state": call.state,
        "by": call.by,
        "place": call.place,
        "answer": Place.parse(call.place).answer,
    }
