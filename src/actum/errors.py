"""Every error of Actum. Who can act on it is said of each; all of them derive from `ActumError`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self, TypeAlias

Outcome: TypeAlias = Literal["not made", "failed", "unusable", "unknown"]
"""What became of a call that has no result: it was *not made*; it *failed*, and nothing says that it had an
effect; it was carried out and its result is *unusable*; or it is *unknown* whether it had its effect."""
OUTCOMES: Sequence[Outcome] = ("unknown", "unusable", "failed", "not made")
"""All of them, the least certain first."""
LONGEST_MESSAGE = 4_000
"""How many characters of a message are kept: it goes into the context, whoever wrote it."""
_SHORTEST_SECRET = 4
"""Shorter texts may stand in a message for other reasons."""


class ActumError(Exception):
    """The root. `str()` is one line that says what was wrong and where; `result` is what the run had produced.

    `tool` is a tool's name, `path` a JSON path inside what was judged, `index` a message's index in its context,
    `data` anything more, JSON only; `outcome` what became of the call, where that differs from the class's own.
    """

    code: str = "error"
    outcome: Outcome = "failed"
    """What became of the call that ended so, where its code had begun."""

    def __init__(
        self,
        message: str,
        *,
        tool: str | None = None,
        path: str | None = None,
        index: int | None = None,
        data: dict[str, Any] | None = None,
        outcome: Outcome | None = None,
    ) -> None:
        if outcome is not None:
            self.outcome = outcome
        self.tool = tool
        self.path = path
        self.index = index
        self.data = data or {}
        self.result: Any = None
        self.message = _placed(message, tool, path, index)
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def add(self, words: str) -> None:
        """Add words to the message."""
        self.message += words
        self.args = (self.message,)

    def to_dict(self) -> dict[str, Any]:
        """The error as JSON: its code, its message and where it was."""
        details = {"tool": self.tool, "path": self.path, "index": self.index, "data": self.data or None}
        return {"code": self.code, "message": self.message} | {k: v for k, v in details.items() if v is not None}


def _placed(message: str, tool: str | None, path: str | None, index: int | None) -> str:
    details = [
        f"message {index}" if index is not None else "",
        f"tool {tool!r}" if tool is not None else "",
        f"at {path}" if path else "",
    ]
    where = ", ".join(part for part in details if part)
    clipped = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…"
    text = " ".join(f"{where}: {clipped}".splitlines() if where else clipped.splitlines())
    return text.encode(errors="backslashreplace").decode()  # a lone surrogate is not text, and could not be sent


def concealed(text: str, secrets: Iterable[object]) -> str:
    """A text without secrets; the longest are replaced first, since one may be part of another."""
    for secret in sorted((secret for secret in secrets if isinstance(secret, str)), key=len, reverse=True):
        text = text.replace(secret, "•••") if len(secret) >= _SHORTEST_SECRET else text
    return text


_SOME_CODES = {
    *("server_config", "server_start", "server_lost", "server_changed"),
    *("model_auth", "model_connection", "model_content", "model_missing", "model_not_installed", "model_quota"),
    *("model_forbidden", "model_rate_limit", "model_truncated", "model_unknown"),
    *("model_recording", "model_refused", "model_rejected", "model_script_exhausted", "model_server", "model_timeout"),
}
"""The codes that are given to an error when it is made; all others are those of its class."""


def code_of(error: ActumError) -> str:
    """The runtime's own code for a failure, whatever code a tool or a server has given it."""
    if error.code in _SOME_CODES:
        return error.code
    return next(str(kind.__dict__["code"]) for kind in type(error).__mro__ if kind.__module__ == __name__)


class SchemaError(ActumError):
    """A schema that can't be used."""

    code = "schema"


class MessageError(ActumError):
    """A malformed message of the context."""

    code = "message"


class CallError(ActumError):
    """A call that was refused before it ran; the model is told and may correct it."""

    code = "call"
    outcome = "not made"


class UnknownTool(CallError):
    """`_tool` names no offered tool."""

    code = "unknown_tool"


class InvalidParameters(CallError):
    """Parameters, or what a model wrote as a result, that don't fit the tool's own schema."""

    code = "invalid_parameters"


class UnresolvedReference(CallError):
    """A reference that can't be read, to a path that nothing holds and no call will fill."""

    code = "unresolved_reference"
    is_consequence = False
    """Whether it is that only because another call has failed."""

    def behind(self) -> Self:
        """The same, as what follows from the failure of another call."""
        self.is_consequence = True
        return self


class ScopeDenied(CallError):
    """A scope outside what the tool allows, or a path that the call may not write."""

    code = "scope_denied"


class NotAsExpected(CallError):
    """What an `_expect` says doesn't hold; the message tells the expression and the kinds that it has read."""

    code = "not_as_expected"


class CyclicPlan(CallError):
    """Calls that wait for each other; the message prints the cycle."""

    code = "cyclic_plan"


class ApprovalDenied(ActumError):
    """The approver said no; the message holds the reason."""

    code = "approval_denied"
    outcome = "not made"


class ActivityError(ActumError):
    """The code behind a call raised, or returned what is not JSON; `__cause__` is its exception."""

    code = "activity"


class InvalidResult(ActivityError):
    """What the code behind a call, or its delegate, returned can't be used; `value` is what that was.

    The call was carried out all the same. `message`, `tool` and `path` are as for `ActumError`.
    """

    code = "invalid_result"
    outcome = "unusable"

    def __init__(
        self, message: str, *, tool: str | None = None, path: str | None = None, returned: tuple[Any, ...] = ()
    ) -> None:
        super().__init__(message, tool=tool, path=path)
        self.returned = returned
        """What was returned, as the only element; none where that is not JSON."""

    @property
    def value(self) -> Any:
        """What was returned, None where that is not JSON."""
        return self.returned[0] if self.returned else None


class AllCallsFailed(ActumError):
    """No call of `any` succeeded; `errors` holds every cause, in call order."""

    code = "all_calls_failed"

    def __init__(self, message: str, *, errors: Sequence[ActumError]) -> None:
        super().__init__(message, data={"errors": [error.to_dict() for error in errors]})
        self.errors = tuple(errors)


class DelegateError(ActumError):
    """A delegate could not be carried out; `chain` are the delegates that led to where it failed.

    `reason` tells why in words that hold nothing of a delegate's private context; `tool` and `outcome` are as for
    `ActumError`.
    """

    code = "delegate"

    def __init__(
        self, reason: str, *, tool: str | None = None, chain: Sequence[str] = (), outcome: Outcome | None = None
    ) -> None:
        self.reason = reason
        self.chain = tuple(chain)
        led = " → ".join(map(repr, self.chain))
        data = {"chain": list(self.chain)} if chain else None
        super().__init__(
            f"the delegate {led} failed: {reason}" if led else reason, tool=tool, data=data, outcome=outcome
        )

    def of(self, delegate: str, tool: str) -> DelegateError:
        """The same failure as that of the delegate in which it happened, for the tool that led to it."""
        return type(self)(self.reason, tool=tool, chain=(delegate, *self.chain), outcome=self.outcome)


class DelegateNotFound(DelegateError):
    """There is no delegate where the tool's `_delegate` points."""

    code = "delegate_not_found"
    outcome = "not made"


class DelegateForbidden(DelegateError):
    """The delegate exists, but this run may not load it or it may not do what it asks."""

    code = "delegate_forbidden"
    outcome = "not made"


class DelegateDepthExceeded(DelegateError):
    """Delegates nested deeper than the run allows."""

    code = "delegate_depth_exceeded"
    outcome = "not made"


class NotInValue(DelegateError):
    """Some of what a reader was asked for isn't in the value that it was given, which may say where it is."""

    code = "not_in_value"


class ServerError(ActumError):
    """A tool server failed, one of MCP or an API; the message names it and quotes nothing that it has said.

    `server` is its name. `data["said"]` are its own words where there are any: for people, never for a model. `code`
    tells the kinds apart: `server_config` is a file of servers that can't be used, `server_start` a server that didn't
    start, `server_lost` one that ended during a call, `server_changed` one whose tool isn't the registered one any
    more, `server` the rest. `kind` is what the message calls it; `tool`, `path` and `outcome` are as for `ActumError`.
    """

    code = "server"

    def __init__(
        self,
        message: str,
        *,
        server: str | None = None,
        code: str = "server",
        said: str = "",
        tool: str | None = None,
        path: str | None = None,
        kind: str = "MCP server",
        outcome: Outcome | None = None,
    ) -> None:
        text = message if server is None else f"the {kind} {server!r} {message}"
        data = {"said": said[:LONGEST_MESSAGE]} if said else None
        super().__init__(text, tool=tool, path=path, data=data, outcome=outcome)
        self.server = server
        self.code = code


class ModelError(ActumError):
    """The model or its provider failed; the `message` says how, in one line.

    `status` is the HTTP status if there was one, `retry_after` the seconds the provider asked to wait.
    `retryable`: the same request may succeed later. `schema_refused`: the provider did not take the schema, a lower
    rung of the ladder may do. `code` tells the kinds apart: model_timeout, model_connection, model_rate_limit, …
    """

    code = "model"

    def __init__(
        self,
        message: str,
        *,
        code: str = "model",
        status: int | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
        schema_refused: bool = False,
    ) -> None:
        super().__init__(message, data={"status": status} if status is not None else None)
        self.code = code
        self.status = status
        self.retry_after = retry_after
        self.retryable = retryable
        self.schema_refused = schema_refused

    def conceal(self, *secrets: object) -> None:
        """Leave out of the message what was sent in confidence and the host has echoed: a key, values of headers."""
        self.message = concealed(self.message, secrets)
        self.args = (self.message,)


class SolutionError(ActumError):
    """The model's answer was unusable, and so were the corrected ones."""

    code = "solution"


class NoProgress(ActumError):
    """The model asked for the same calls again and nothing was written between; `errors` holds the last ones."""

    code = "no_progress"

    def __init__(self, message: str, *, errors: Sequence[ActumError] = ()) -> None:
        super().__init__(message, data={"errors": [error.to_dict() for error in errors]} if errors else None)
        self.errors = tuple(errors)


class PlanFailed(ActumError):
    """A plan that no model wrote has no output to deliver; `__cause__` is why, `result` holds what was done."""

    code = "plan_failed"


class PlanLeft(PlanFailed):
    """A plan that no model wrote expected what doesn't hold, and is left."""

    code = "plan_left"


class LimitExceeded(ActumError):
    """A limit of the run was reached; `limit` names it."""

    code = "limit_exceeded"

    def __init__(self, message: str, *, limit: str) -> None:
        super().__init__(message, data={"limit": limit})
        self.limit = limit


class IdeaError(ActumError):
    """An Idea that can't be read, found or written."""

    code = "idea"


class EvalError(ActumError):
    """An eval, or a file that it names, is wrong; nothing was asked. `problems` is all of it, a line each."""

    code = "eval"

    def __init__(self, problems: Sequence[str]) -> None:
        rest = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"{problems[0]}{rest}", data={"problems": list(problems)})
        self.problems = tuple(problems)


class RefineError(ActumError):
    """No plan could be derived, proved or used.

    Args:
        message: what is wrong.
        code: why, as one word: `too_few`, `taken_from_data`, `not_proved` …
        path: the value that it is about, `3.days`.
    """

    code = "refine"

    def __init__(self, message: str, *, code: str, path: str | None = None) -> None:
        super().__init__(message, path=path)
        self.code = code


class NotWaiting(IdeaError):
    """No call of a run waits for a decision at that place any more, or another one than was shown to who decides."""

    code = "not_waiting"


class RunError(ActumError):
    """A run that is kept: what was asked of it can't be done."""

    code = "run"


class IdeaNotFound(IdeaError):
    """No Idea has this address, or none lies at this path."""

    code = "idea_not_found"


class RunNotFound(RunError, IdeaError):
    """No run has this id, or none is kept in this file."""

    code = "run_not_found"


class RunEnded(RunError):
    """A run has ended without a result: it failed, with the `code` of its error, or it was cancelled."""

    def __init__(self, message: str, *, code: str = "cancelled") -> None:
        super().__init__(message)
        self.code = code


class RunPoisoned(RunError):
    """Every worker that has carried the run out of late was lost, and nothing was recorded: nobody tries it again."""

    code = "run_poisoned"


class NotCarried(RunError):
    """No worker had what the run needs, for longer than they wait for one that has."""

    code = "not_carried"


class StoreUnavailable(RunError):
    """The database of the runs can't be reached now; the same may succeed later."""

    code = "store_unavailable"


class RequestWaits(RunError):
    """A request lies in a provider's batch: its run goes on when that is answered, and its worker lets go of it."""


class Fenced(RunError):
    """Another process owns the run by now: what this one would still write is refused. It ends without a message."""

    code = "fenced"
