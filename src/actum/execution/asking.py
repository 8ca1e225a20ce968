"""One answer of a run while it is asked for: its calls are taken in, its requests are paid for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..dataflow.arriving import shown_so_far, strings_in
from ..dataflow.reference import Path, print_path
from ..errors import ActumError, SolutionError
from ..events import OutputDelta, ReasoningDelta, RequestStarted, Retried, TextDelta
from ..generation.ask import Begin
from ..generation.compile import Frame
from ..generation.model import Model, ModelRequest
from ..protocol.call import Call, Place
from ..protocol.config import Limits
from ..protocol.context import Context
from ..protocol.message import as_printed
from ..protocol.usage import Usage
from ..schema.json import Json
from ..spans import Span
from .budget import Budget
from .calls.intake import Intake
from .calls.outcomes import Outcomes
from .emitter import Emitter, request_begun
from .record.journal import Journal
from .record.recorder import Restarted
from .script import Script


class Texts:
    """Tells every character once as provisional, unless it is certain already, and once for good."""

    def __init__(self, emit: Emitter) -> None:
        self._emit = emit
        self._arrived: defaultdict[Path, int] = defaultdict(int)
        """How many characters of each string have arrived."""
        self._delivered: defaultdict[Path, int] = defaultdict(int)
        """How many of them have been told for good."""
        self._provisional: dict[Path, list[str]] = {}
        """What has been told as provisional only."""

    def grow(self, path: Path, text: str, *, is_certain: bool) -> None:
        """A string has grown; `is_certain`: what has arrived can't be withheld any more."""
        self._arrived[path] += len(text)
        if is_certain:
            for at, texts in self._provisional.items():
                self._tell(at, "".join(texts), provisional=False)
            self._provisional.clear()
        else:
            self._provisional.setdefault(path, []).append(text)
        self._tell(path, text, provisional=not is_certain)

    def complete(self, shown: Json) -> None:
        """The output has arrived, with this much that can be shown: tell what has not been told yet."""
        for path, text in strings_in(shown):
            if rest := text[self._arrived[path] :]:
                self.grow(path, rest, is_certain=False)

    def deliver(self, output: Json) -> None:
        """The output is delivered: tell for good what has only been told as provisional."""
        for path, text in strings_in(output):
            if rest := text[self._delivered[path] :]:
                self._tell(path, rest, provisional=False)
        self._provisional.clear()

    def _tell(self, path: Path, text: str, *, provisional: bool) -> None:
        if not provisional:
            self._delivered[path] += len(text)
        self._emit(TextDelta(member=print_path(path).removeprefix("."), text=text, provisional=provisional))


@dataclass(slots=True, kw_only=True)
class Paying:
    """Pays for the text of an answer as it comes, and tells that it is asked for again."""

    budget: Budget
    emit: Emitter

    def heard(self, text: str, signs: int) -> None:
        """Count what the model says as it says it: an answer may never come to an end (L5)."""
        self.budget.heard(text, signs)

    def arrived(self, text: str) -> None:
        """Count what is about to be read: a call again, for the message that it leaves (L5)."""
        self.budget.arrived(text)

    def after(self, usage: Usage) -> None:
        """Count what the request has cost."""
        self.budget.pay(usage)

    def again(self, error: ActumError) -> None:
        """Say that the answer is asked for again."""
        self.emit(Retried(error=error))


@dataclass(slots=True, kw_only=True)
class Asking(Paying):
    """Receives an answer and pays for it (see `generation.ask`). Without `calls`, it is kept and nothing is made."""

    script: Script
    """The attempt under way: an answer that begins again is another one."""
    journal: Journal
    calls: Intake | None
    own_budget: Budget = field(default_factory=lambda: Budget(Limits()))
    """What the run has spent itself, without its readers and delegates (S10)."""
    outcomes: Outcomes | None = None
    """What has come of the calls of its run, where any are made."""
    notices: Sequence[str] = ()
    """What the model should know of its last answer."""
    errors: list[ActumError] = field(default_factory=list[ActumError])
    """Takes why an answer was refused."""
    shown: tuple[Context, Sequence[Call], Sequence[Call]] | None = None
    """What every request of this answer shows: the context, what waits and what is owed at the first one. What has
    ended since depends on delays, and so would the numbers of its results (M9)."""
    texts: Texts = field(init=False)

    def __post_init__(self) -> None:
        self.texts = Texts(self.emit)

    def element(self, index: int, call: Call | ActumError) -> None:
        """Start a call, or let it wait; an element that isn't a call is an error of its own (L3)."""
        script = self.script
        script.calls.append(call if isinstance(call, Call) else Call())
        if self.calls is None:
            script.tell_arrival(index, self.journal)
        elif isinstance(call, Call):
            self.calls.accept(script, index, call)
        else:
            self.calls.reject(script, index, call)

    def restart(self) -> None:
        """Take the answer back, but not what has started."""
        self.texts = Texts(self.emit)
        before = self.script
        if self.calls is not None:
            self.script = self.calls.restart(before)
        else:
            self.script = Script(number=before.number, run=before.run, start=before.start, turn=before.turn)
        if self.journal.is_recorded:
            kept = {place: dict(call) for place, call in self.script.kept.items()}
            by = self.script.number
            self.journal.tell(Restarted(answer=before.number, by=by, start=before.start, kept=kept))

    @property
    def begin(self) -> Begin | None:
        """What begins the spans of its requests; None where nobody traces."""
        return None if self.emit.trace is None else self._begin

    def _begin(self, model: Model, request: ModelRequest) -> Span:
        assert self.emit.trace is not None
        place = self.emit.place(Place(self.script.number))
        span = self.emit.trace.begin(request_begun(self.script.run, place, model, request))
        self.script.asked_by = span.traceparent
        return span

    @property
    def listener(self) -> Asking | None:
        """Who is told of the output while it arrives; None where nobody listens."""
        return self if self.emit.sink else None

    def thought(self, text: str) -> None:
        """Tell what the model thinks; nothing keeps it."""
        self.emit(ReasoningDelta(text=text))

    def partial(self, text: str, *, is_literal: bool) -> None:
        """Tell of the output so far."""
        from pydantic_core import from_json

        try:
            value = from_json(text.encode(), allow_partial="trailing-strings")
        except ValueError:
            return
        self.emit(OutputDelta(value=value if is_literal else shown_so_far(value, is_whole=False)))

    def text(self, path: Path, text: str, *, is_sure: bool) -> None:
        """Tell how a string of the output has grown, for good if no call can fail any more (O9)."""
        is_certain = is_sure and (self.outcomes is None or not self.outcomes.may_fail())
        self.texts.grow(path, text, is_certain=is_certain)

    def whole(self, output: Json, *, is_literal: bool) -> None:
        """Tell of the output as it was authored."""
        shown = output if is_literal else shown_so_far(output, is_whole=True)
        self.texts.complete(shown)
        self.emit(OutputDelta(value=shown))

    def before(self, complaint: str | None, frame: Frame) -> tuple[ModelRequest, Frame]:
        """Spend a request, and make it: on the last one only an output can be answered, or what it waits for (L5)."""
        if self.shown is None:
            waiting, owed = self.outcomes.open_calls(self.script) if self.outcomes is not None else ([], [])
            self.journal.show()
            self.shown = self.journal.context(), waiting, owed
        context, waiting, owed = self.shown
        # Data decide how many requests readers and delegates make, so a sealed planner isn't told of those.
        requests = (self.own_budget.usage if frame.is_sealed else self.budget).requests
        # Without tools there is nothing to plan by it, and it would stand behind the question (W28).
        left = self.budget.notices(requests) if frame.toolset.tools else ()
        notices = [*left, *self.notices, *([complaint] if complaint else [])]
        if self.budget.is_last(requests) and requests and not owed:
            frame = frame.last()
        self.budget.ask()
        request = frame.request(context, waiting=waiting, owed=owed, notices=notices)
        if self.emit.sink:
            self.emit(
                RequestStarted(
                    context=as_printed(context),
                    messages=[dict(message) for message in request.messages],
                    schema=request.schema,
                    waiting=tuple(map(dict, waiting)),
                    owed=tuple(map(dict, owed)),
                    notices=tuple(notices),
                )
            )
        return request, frame

    def again(self, error: ActumError) -> None:
        """Say that the answer is asked for again; one that was refused is an error of the run."""
        Paying.again(self, error)
        if isinstance(error, SolutionError) and self.calls is not None:
            self.errors.append(error)

    def after(self, usage: Usage) -> None:
        """Count what the request has cost, also as what the run has spent itself."""
        self.budget.pay(usage)
        self.own_budget.pay(usage)
