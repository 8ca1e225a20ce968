"""One request becomes one solution: parts are passed on as they arrive; an unusable answer is asked for again (L3)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from ..dataflow.expression import ALONE, Template, TextBounds, template
from ..dataflow.reference import Path, ReferenceSyntax
from ..errors import ActumError, CallError, InvalidParameters, ModelError, SolutionError
from ..protocol.activity import raised_words
from ..protocol.call import Call, normalised
from ..protocol.usage import Usage
from ..schema.infer import Shape
from ..schema.json import Json, NotJson, decode
from ..schema.validator import Validator
from ..spans import RequestEnded, Span, ending_of
from .answer_parser import AnswerParser, AnswerSyntax, Element, Member
from .compile import Frame
from .model import PASSING, Gate, Gated, Model, ModelRequest, Reasoning, closing
from .model_chain import chain_of, next_frame, speaker
from .strings import OutputTexts

Post: TypeAlias = Callable[[Model, ModelRequest], Awaitable[Model]]
"""Gives what answers a request of a model that lay in a batch; raises RequestWaits where it isn't answered yet."""


class Asker(Protocol):
    """Who asks: it knows what generation doesn't (the budget, who listens), and takes the calls as they arrive."""

    def heard(self, text: str, signs: int) -> None:
        """So much more of the answer has come, with so many signs between its values.

        Raises:
            LimitExceeded: the run can't afford it.
        """
        ...

    def arrived(self, text: str) -> None:
        """An element of `calls`, or another part of the answer, is complete, and not read yet.

        Raises:
            LimitExceeded: the run can't afford what it says.
        """
        ...

    def element(self, index: int, call: Call | ActumError) -> None:
        """The index-th element of `calls` is complete: a call, or why it isn't one."""
        ...

    def restart(self) -> None:
        """The answer so far is void; it begins again."""
        ...

    def before(self, complaint: str | None, frame: Frame) -> tuple[ModelRequest, Frame]:
        """The request to send, with the complaint about the last answer, and the frame that it was made of.

        Raises:
            LimitExceeded: none is left.
        """
        ...

    def after(self, usage: Usage) -> None:
        """What the request has cost."""
        ...

    def again(self, error: ActumError) -> None:
        """The answer was unusable."""
        ...


class Listener(Protocol):
    """Who is told of an output while it arrives, and of what the model thinks."""

    def thought(self, text: str) -> None:
        """The model thinks this."""
        ...

    def partial(self, text: str, *, is_literal: bool) -> None:
        """The text of `output` has grown to this; `is_literal`: a † means nothing in it."""
        ...

    def text(self, path: Path, text: str, *, is_sure: bool) -> None:
        """A string of `output` has grown by this. `is_sure`: all calls have arrived, and no string before it refers."""
        ...

    def whole(self, output: Json, *, is_literal: bool) -> None:
        """The output is complete, as it was authored."""
        ...


def _said_of_type(error: ValueError) -> str:
    """What doesn't fit a type of the caller's, without the values: an output may hold what others wrote (E6)."""
    found: Any = getattr(error, "errors", None)
    if found is None:
        return str(error)
    first = found(include_input=False, include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


@dataclass(slots=True)
class Judge:
    """Judges the `output` and the `meta` of answers by their schemas."""

    shape: Shape[Any]
    output: Validator
    meta: Validator
    reading: TextBounds = ALONE
    """What reading an output goes by."""
    is_literal: bool = False
    """Whether an output refers to nothing: what looks like a reference is text (D18)."""

    def finished(self, value: Json) -> Any:
        """An output without references as the caller's type.

        Raises:
            SolutionError: naming what doesn't fit.
        """
        if (problem := self.output.complaint(value, quotes=False)) is not None:
            raise SolutionError(f"'output' doesn't fit its schema: {problem}", path="output")
        if not self.shape.typed:
            return value
        try:
            return self.shape.parse(value)
        except ValueError as error:
            text = _said_of_type(error)
            raise SolutionError(f"'output' doesn't fit its type: {text}", path="output") from None


@dataclass(slots=True)
class ArrivedAnswer:
    """What has arrived of an answer; `output` may hold references (O7), `authored` is as it was written.

    `finished` is the output as the caller's type, None where it refers to something.
    """

    meta: dict[str, Any] | None = None
    output: Template | None = None
    authored: Json = None
    finished: Any = None
    calls: list[Call] = field(default_factory=list[Call])
    errors: list[ActumError] = field(default_factory=list[ActumError])
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    """The name of the model that was asked."""
    has_begun: bool = False
    """Whether any text of it has arrived."""


Begin: TypeAlias = Callable[[Model, ModelRequest], Span]
"""Begins the span of one request."""


async def ask(
    model: Model,
    frame: Frame,
    judge: Judge,
    asker: Asker,
    *,
    retries: int,
    listener: Listener | None = None,
    settled: Callable[[], Awaitable[None]] | None = None,
    begin: Begin | None = None,
    gate: Gate | None = None,
    post: Post | None = None,
) -> tuple[ArrivedAnswer, Frame]:
    """Ask until an answer is usable; the frame comes back a rung lower where the provider refused its schema, and for
    another of the models that stand for one where that has answered. `settled` is awaited before each request; `begin`
    is there where the requests are traced, `gate` where others ask the same models, `post` where requests are put into
    batches.

    Raises:
        SolutionError: no answer was usable.
        RequestWaits: the request lies in a batch.
        ModelError: the model failed. What passes, its adapter has waited for; what broke off is asked for again.
    """
    complaint: str | None = None
    failed = 0
    while True:
        request, frame = asker.before(complaint, frame)
        request = await frame.sent(request)
        if settled is not None:
            await settled()
        answered, asked = ArrivedAnswer(), speaker(model, frame)
        if post is not None:
            let_in = await post(asked, request)
        else:
            let_in = asked if gate is None else Gated(asked, gate, settled, is_last=asked is chain_of(model)[-1])
        attempt = _attempt(let_in, request, answered, frame, judge, asker, listener)
        try:
            await (attempt if begin is None else _traced(begin(asked, request), attempt, answered))
            return answered, frame
        except ModelError as error:
            other = next_frame(model, frame, error)
            if other is not None:
                frame = other
                asker.restart()
                asker.again(error)
                continue
            is_carriers = error.code in PASSING and not answered.has_begun
            if is_carriers or not error.retryable or failed >= retries or not await _waited(asked, error, failed):
                raise
            problem: ActumError = error
        except (AnswerSyntax, SolutionError) as error:
            problem = error if isinstance(error, SolutionError) else SolutionError(str(error))
            complaint = f"Your last answer was not usable: {problem.message}. Answer again, whole."
            if isinstance(error, AnswerSyntax):
                frame = frame.disproved(asked)
        failed += 1
        if failed > retries:
            attempts = "answer was" if failed == 1 else f"{failed} answers were"
            raise SolutionError(f"the model's {attempts} not usable: {problem.message}", path=problem.path) from problem
        asker.restart()
        asker.again(problem)


async def _waited(model: Model, error: ModelError, failed: int) -> bool:
    """Wait as the adapter does before an answer is asked for again that broke off; whether it can be waited for."""
    retrying: Any = getattr(model, "retrying", None)
    if retrying is None or error.code not in PASSING:
        return True
    seconds: float | None = retrying.pause(failed, error)
    if seconds is not None:
        await retrying.sleep(seconds)
    return seconds is not None


async def _traced(span: Span, attempt: Awaitable[None], answered: ArrivedAnswer) -> None:
    """Make a request with its span current: what the model's library traces hangs below it."""
    try:
        with span.current():
            await attempt
    except BaseException as error:
        failed = SolutionError(str(error)) if isinstance(error, AnswerSyntax) else error
        span.end(ending_of(failed, answered.usage))
        raise
    span.end(RequestEnded(answered.usage, answered.calls, answered.authored))


async def _attempt(
    model: Model,
    request: ModelRequest,
    answered: ArrivedAnswer,
    frame: Frame,
    judge: Judge,
    asker: Asker,
    listener: Listener | None,
) -> None:
    parser = AnswerParser()
    following = _Following(parser, frame, judge, listener) if listener is not None else None
    usage = Usage(requests=1)
    try:
        stream, deltas = _begun(model, request)
        async with closing(stream):
            while True:
                # Not `async for` over another generator, for what fails here is the model's fault and nothing else is:
                # a generator between would be passed by every delta.
                try:
                    delta = await anext(deltas)
                except StopAsyncIteration:
                    break
                except ActumError:
                    raise
                except Exception as error:
                    raise _failed(model, error) from error
                if isinstance(delta, Usage):
                    usage = replace(delta, requests=max(1, delta.requests))  # a model may report nothing but tokens
                    continue
                if isinstance(delta, Reasoning):
                    asker.heard(delta.text, 1)
                    if listener is not None and delta.text:
                        listener.thought(delta.text)
                    continue
                answered.has_begun = answered.has_begun or bool(delta)
                is_short = isinstance(delta, str) and len(delta) <= _MOST_AT_ONCE  # pyright: ignore[reportUnnecessaryIsInstance] -- a model may be anybody's
                for piece in (delta,) if is_short else _pieces(model, delta):
                    before = parser.signs
                    for part in parser.feed(piece):
                        _take(part, answered, frame, judge, asker)
                        if following is not None and isinstance(part, Member) and part.name == "output":
                            following.end(answered)
                    asker.heard(piece, parser.signs - before)
                    if following is not None:
                        following.go_on()
        parser.finish()
    finally:
        answered.model = model.name
        answered.usage = usage = replace(usage, fallbacks=1) if frame.speaker else usage
        asker.after(usage)


_MOST_AT_ONCE = 65_536
"""How many characters are read before it is asked whether the run can afford them (L5)."""


def _pieces(model: Model, text: Any) -> Iterator[str]:
    """A long text, piece by piece.

    Raises:
        ModelError: it is none.
    """
    if not isinstance(text, str):
        kind = type(text).__name__
        raise ModelError(f"the model {model.name!r} has yielded a {kind}; what it yields is text, Reasoning or Usage")
    for start in range(0, len(text), _MOST_AT_ONCE):
        yield text[start : start + _MOST_AT_ONCE]


def _begun(model: Model, request: ModelRequest) -> tuple[Any, AsyncIterator[str | Reasoning | Usage]]:
    """The model's stream, and what iterates over it."""
    try:
        stream = model.stream(request)
        return stream, aiter(stream)
    except ActumError:
        raise
    except Exception as error:
        raise _failed(model, error) from error


def _failed(model: Model, error: Exception) -> ModelError:
    return ModelError(f"the model {model.name!r} failed: {raised_words(error)}")


def _take(part: Element | Member, answered: ArrivedAnswer, frame: Frame, judge: Judge, asker: Asker) -> None:
    asker.arrived(part.text)
    if isinstance(part, Element):
        if part.text == "null" and not frame.composition.tools:
            return  # where none can be made, `calls` is a list of null for decoders that know no empty list
        call = _call(part, frame)
        if isinstance(call, Call):
            answered.calls.append(call)
        else:
            answered.errors.append(call)
        asker.element(part.at, call)
        return
    try:
        value = _value(part)
    except NotJson as error:
        raise SolutionError(str(error), path=part.name) from None
    if part.name == "meta":
        if frame.composition.meta:  # one that wasn't asked for is ignored (T5)
            answered.meta = _meta(frame.lowered.restore_meta(value), judge)
    else:
        answered.authored = value if frame.lowered.rung is None else frame.lowered.restore_output(value)
        answered.output, answered.finished = _output(answered.authored, judge)


def _value(part: Element | Member) -> Json:
    if part.refused is not None:
        raise NotJson(part.refused)
    return decode(part.text)


def _call(part: Element, frame: Frame) -> Call | CallError:
    try:
        value = _value(part)
        if not isinstance(value, dict):
            raise NotJson(f"a call must be a JSON object, not {type(value).__name__}")
        # What was sent as it was composed comes back so.
        return Call.of(normalised(value if frame.lowered.rung is None else frame.lowered.restore_call(value)))
    except NotJson as error:
        return InvalidParameters(str(error), path=f"calls[{part.at}]")
    except CallError as error:
        return error


def _meta(value: Json, judge: Judge) -> dict[str, Any] | None:
    if value is not None and (problem := judge.meta.complaint(value)) is not None:
        raise SolutionError(f"'meta' doesn't fit its schema: {problem}", path="meta")
    return value if isinstance(value, dict) else None


def _output(value: Json, judge: Judge) -> tuple[Template | None, Any]:
    if value is None:
        return None, None
    if judge.is_literal:
        return Template(value, (), ()), judge.finished(value)
    try:
        parsed = template(value, judge.reading)
    except ReferenceSyntax as error:
        where = "output" + ("" if error.at.startswith("[") else ".") * bool(error.at) + error.at
        raise SolutionError(error.reason, path=where) from None
    return parsed, None if parsed.expressions else judge.finished(parsed.value)


_LEAST_GROWTH = 16


class _Following:
    """Tells of the output while it arrives."""

    def __init__(self, parser: AnswerParser, frame: Frame, judge: Judge, listener: Listener) -> None:
        parser.follow_output()
        self._parser = parser
        self._listener = listener
        self._is_literal = judge.is_literal
        self._texts = OutputTexts(is_literal=judge.is_literal) if frame.lowered.keeps_output else None
        """None where strings stand elsewhere on the wire than in the output: they are told when it is complete."""
        self._told = 0
        self._has_ended = False

    def go_on(self) -> None:
        """Tell what is new."""
        if self._has_ended or not (new := self._parser.new_output()):
            return
        self._tell_texts(new)
        length = self._parser.partial_output.length
        # When it has grown by a twentieth, so that telling all of it costs no more than reading it.
        if length >= self._told + _LEAST_GROWTH + self._told // 20:
            self._told = length
            self._listener.partial(self._parser.partial_output.text, is_literal=self._is_literal)

    def end(self, answered: ArrivedAnswer) -> None:
        """Tell what is left, now that the output is complete."""
        self._tell_texts(self._parser.new_output())
        self._has_ended = True
        if answered.authored is not None:
            self._listener.whole(answered.authored, is_literal=self._is_literal)

    def _tell_texts(self, new: str) -> None:
        texts = self._texts
        if texts is None:
            return
        for path, text in texts.feed(new):
            self._listener.text(path, text, is_sure=self._parser.has_calls and not texts.is_filled)
