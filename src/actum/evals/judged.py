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
from ..inspection.account import Account, CallSeen, account_of
from ..inspection.origins import calls_of
from ..inspection.wording import short
from ..protocol.call import Place
from ..protocol.solution import CallAccount
from ..schema.json import JsonObject
from .case import Case

KINDS = ("output", "expect", "input", "state", "usage", "called")
"""What an expression of a check may refer to."""


@dataclass(frozen=True, kw_only=True)
class JudgedRun(Account):
    """A run's `Account` with its `case`, and in `called` each call as `{tool, args, value, error, state, by, place,
    answer}`, in the order in which they began; items of an `_each` are separate calls.

    `simulated` are the tools that a model simulated.
    """

    case: Case
    missed: Sequence[JsonObject] = ()
    """Calls that no record could answer, as in `called`, with the state `missed`."""
    simulated: Sequence[str] = ()
    is_anew: bool = False
    """Whether its tools' results may have come from a record, so that its duration is meaningless."""
    failed: str | None = None
    """The error that ended it, None if it didn't fail."""

    @cached_property
    def called(self) -> list[JsonObject]:
        """The calls that were made, then those that no record could answer."""
        made = [call for call in self.accounts if call.state != "not made"]
        return [*map(_to_json, sorted(made, key=self._began)), *(call for call in self.missed if call["tool"])]

    @cached_property
    def accounts(self) -> list[CallAccount]:
        """The outcome of each call, in the order of their places."""
        return calls_of(self.idea)

    def _began(self, call: CallAccount) -> float:
        """When a call began; a call whose time isn't known comes first."""
        account = account_at(self, call.place)
        return 0.0 if account is None or account.row.began is None else account.row.began

    @property
    def has_output(self) -> bool:
        """Whether it has an output."""
        return self.output is not None

    @cached_property
    def values(self) -> JsonObject:
        """The values that expressions refer to, by kind; MISSING for a kind that the run or the case doesn't have."""
        given = self.idea.context.with_messages(self.given)
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
        """Its cost: requests, tokens, US dollars and seconds; None for what isn't known."""
        seconds = None if self.began is None or self.ended is None or self.is_anew else self.ended - self.began
        usage = self.usage
        tokens: JsonObject = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        return {"requests": usage.requests, **tokens, "usd": usage.usd, "seconds": seconds}

    def read(self, reference: Reference) -> Any:
        """The value of a reference, or MISSING."""
        value = self.values[reference.kind]
        return MISSING if value is MISSING else Fold(value).read(reference.path)


def unfit_of(account: Account) -> str | None:
    """Why a run can't be judged yet; None if it can be."""
    if account.waiting or account.gates:
        return "it waits for a decision: only a run with an output or an error is a case"
    return None


def judged_run(idea: Idea, name: str, case: Case, **extra: Any) -> JudgedRun:
    """A run as the checks of a case see it: a kept run, or one that `is_anew` and may wait for decisions.

    Raises:
        IdeaError: no run is kept there, or not as a run writes it, or a kept run waits for a decision.
    """
    account = account_of(idea, name)
    unfit = unfit_of(account)
    if unfit is not None and not extra.get("is_anew"):
        raise IdeaError(f"{name}: {unfit}")
    if unfit is not None:
        waits = ", ".join([*(f"{wait.of} {short(wait.call)}" for wait in account.waiting), *account.gates])
        extra["missed"] = [*extra.get("missed", ()), missed_call(f"it waits for a decision: {waits}")]
    return JudgedRun(**{member.name: getattr(account, member.name) for member in fields(Account)}, case=case, **extra)


def missed_call(why: str, tool: str = "", arguments: JsonObject | None = None, place: str = "") -> JsonObject:
    """A call that nothing could answer, in the form of `called`, with the reason."""
    call: JsonObject = {"tool": tool, "args": arguments or {}, "value": None, "error": why}
    return {**call, "state": "missed", "by": "nobody", "place": place, "answer": None}


def account_at(run: JudgedRun, place: str) -> CallSeen | None:
    """The account of the call at a place, or, of a call for an item, that of the whole call."""
    return run.find(place) or run.find(str(Place.parse(place).parent or ""))


def _to_json(call: CallAccount) -> JsonObject:
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
