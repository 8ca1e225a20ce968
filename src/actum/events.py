"""What a run tells while it runs. All events are frozen; `at` is in seconds since the epoch, monotonic within a run.

`depth` is 0 for the run itself, 1 for its delegates and so on; `path` are the calls that led there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias, cast

from .errors import ActumError, Outcome, PlanFailed
from .protocol.call import Call, Place
from .protocol.context import Context
from .protocol.solution import Result, Solution
from .protocol.usage import Usage
from .schema.json import JsonObject, is_object

_NOWHERE = Place(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What all events have."""

    at: float = 0.0
    depth: int = 0
    path: tuple[Call, ...] = ()
    within: Place | None = None
    """The place of the delegated call whose run tells it, from the outermost run; None in that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent(Event):
    """What all events of a call have."""

    call: Call
    place: Place = _NOWHERE
    """The address of the call, from the outermost run: `3.0`, for an item of an `_each` `3.0.17`, in a delegate
    `3.0/1.2`. `place.parent` is that of the call for all items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStarted(Event):
    """A request goes to the model: the context as plain messages, and both parts of what the model is sent.

    What the messages hold beyond the context, follows from the calls that are `waiting` or `owed` and the `notices`.
    """

    context: list[JsonObject]
    messages: list[JsonObject]
    schema: JsonObject
    waiting: tuple[JsonObject, ...] = ()
    owed: tuple[JsonObject, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReady(CallEvent):
    """Everything that the call refers to exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(CallEvent):
    """The call is being carried out.

    `made` is the call with values for its references. `delegate` is what carries it out in isolation, None
    inline; `passed_over` the Activity that merely has the tool's name where a delegate does; `crossed` all of the
    context that it is given. `key` is its idempotency key. `derived` are the places in it whose values a
    reader or an expression has made of what calls have brought.
    """

    made: Call | None = None
    delegate: str | None = None
    passed_over: str = ""
    crossed: tuple[JsonObject, ...] = ()
    key: str = ""
    derived: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProgress(CallEvent):
    """What the code behind a call that is being carried out says of how far it is.

    `done` only grows while the call runs; `total` is what it will be in the end, None where nobody knows. `message` is
    text of whoever carries the call out.
    """

    done: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRetried(CallEvent):
    """The code behind the call raised `error`, and is tried again in `seconds`: for the `attempt`-th time after the
    first."""

    error: ActumError
    attempt: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished(CallEvent):
    """The call is done; `overwrote` says that another call of its answer has written its path, too.

    `maker` is the digest of the Idea that has carried it out, empty where code has.
    """

    value: Any = None
    overwrote: bool = False
    latent: bool = False
    maker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed(CallEvent):
    """The call was refused or failed; `outcome` tells what became of it, `maker` as for CallFinished.

    Where it `is_replaced`, its `_else` stands for it: as what, CallFinished says next.
    """

    error: ActumError
    outcome: Outcome = "failed"
    is_replaced: bool = False
    maker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWaiting(CallEvent):
    """The call waits for references; at the end of a run, a proposal waits for its gates."""

    on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSkipped(CallEvent):
    """The call will not run, which is not an error."""

    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta(Event):
    """New characters of what the model thinks, where its provider streams that: in its own words, or a summary.

    It is told and never kept: no context, record or Idea holds it, and no later request. It begins anew with the next
    request, where an answer is asked for again (`Retried`), and where a request is sent again before the answer began.
    """

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDelta(Event):
    """What has arrived of an answer's output: all of it each time, the last time when it is complete.

    It may still be withheld or asked for again. Of a text that is filled in later, only what stands before that is
    there, null if that is nothing.
    """

    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Event):
    """The new characters of a string of the output; `member` is its path as references write it, `""` the output.

    Those that are not `provisional` can't be withheld any more: together they are the strings of the output that
    is delivered. Provisional ones come earlier, and come again when that is certain. A text begins anew with the next
    request of the run, and where an answer is asked for again (`Retried`).
    """

    member: str
    text: str
    provisional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFinished(Event):
    """The model's answer has ended; `model` is the name of the one that gave it."""

    solution: Solution[Any]
    usage: Usage
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried(Event):
    """The answer was unusable, or the model failed, and it is asked for again, perhaps another model."""

    error: ActumError


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairStarted(Event):
    """A plan that no model wrote has failed, and the model is asked to go on with it: `Config(repair=…)`.

    `answer` is its number, what the places of its calls begin with; `error` what the run would have ended with.
    """

    answer: int
    error: PlanFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPassed(Event):
    """There is a refined plan for the request, and it isn't used: an ordinary run begins.

    `code` says why: `not_approved` by a person, `not_proved` any more (it rests), `stale` since a tool has changed.
    """

    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(Event):
    """The run is over."""

    result: Result[Any]


AnyEvent: TypeAlias = (
    RequestStarted
    | CallReady
    | CallStarted
    | CallProgress
    | CallRetried
    | CallFinished
    | CallFailed
    | CallWaiting
    | CallSkipped
    | ReasoningDelta
    | OutputDelta
    | TextDelta
    | RequestFinished
    | Retried
    | RepairStarted
    | PlanPassed
    | RunFinished
)
"""Every event."""


def as_json(event: AnyEvent) -> JsonObject:
    """An event as JSON: `event` is its name; what `actum run --json` prints, a line each."""
    return {"event": type(event).__name__, **{field.name: _json(getattr(event, field.name)) for field in fields(event)}}


def _json(value: Any) -> Any:
    match value:
        case ActumError():
            return value.to_dict()
        case Context():
            return value.messages
        case Place():
            return str(value)
        case _ if is_object(value):
            return {str(key): _json(member) for key, member in value.items()}
        case list() | tuple():
            return [_json(item) for item in cast("Sequence[Any]", value)]
        case None | bool() | int() | float() | str():
            return value
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {field.name: _json(getattr(value, field.name)) for field in fields(value)}
        case _:
            from .schema.infer import jsonable

            return jsonable(value)
