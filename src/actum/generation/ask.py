"""Turns one request into one solution: passes on parts as they arrive, and asks again for an unusable answer (L3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from ..dataflow.expression import ALONE, Template, TextBounds, template
from ..dataflow.reference import ReferenceSyntax
from ..errors import ActumError, CallError, InvalidParameters, ModelError, SolutionError
from ..protocol.activity import error_text
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
from .output_follower import Listener, OutputFollower

Post: TypeAlias = Callable[[Model, ModelRequest], Awaitable[Model]]
"""Returns a model that gives the batched answer to a request; raises RequestWaits while there is none."""


class Asker(Protocol):
    """The run that asks: it knows the budget and the listeners, and receives the calls as they arrive."""

    def heard(self, text: str, signs: int) -> None:
        """More of the answer has arrived: its text, and how many strings, brackets and commas were read in it.

        Raises:
            LimitExceeded: the run can't afford it.
        """
        ...

    def arrived(self, text: str) -> None:
        """An element of `calls`, or another part of the answer, is complete but not decoded yet.

        Raises:
            LimitExceeded: the run can't afford it.
        """
        ...

    def element(self, index: int, call: Call | ActumError) -> None:
        """The index-th element of `calls` is complete: a call, or why it isn't one."""
        ...

    def restart(self) -> None:
        """The answer so far is void; it begins again."""
        ...

    def before(self, complaint: str | None, frame: Frame) -> tuple[ModelRequest, Frame]:
        """The request to send, with the complaint about the last answer, and the frame that it was made from.

        Raises:
            LimitExceeded: none is left.
        """
        ...

    def after(self, usage: Usage) -> None:
        """The request has ended with this usage."""
        ...

    def again(self, error: ActumError) -> None:
        """The answer was unusable."""
        ...


def _type_problem(error: ValueError) -> str:
    """How a value doesn't fit the caller's type, without the value: an output may hold what others wrote (E6)."""
    errors: Any = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    first = errors(include_input=False, include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


@dataclass(slots=True)
class Judge:
    """Judges the `output` and the `meta` of answers by their schemas."""

    shape: Shape[Any]
    output: Validator
    meta: Validator
    reading: TextBounds = ALONE
    """The bounds for reading an output."""
    is_literal: bool = False
    """Whether an output holds no references: whatever looks like one is text (D18)."""

    def finished(self, value: Json) -> Any:
        """An output without references, as the caller's type.

        Raises:
            SolutionError: the output doesn't fit its schema or its type.
        """
        if (problem := self.output.complaint(value, quotes=False)) is not None:
            raise SolutionError(f"'output' doesn't fit its schema: {problem}", path="output")
        if not self.shape.typed:
            return value
        try:
            return self.shape.parse(value)
        except ValueError as error:
            text = _type_problem(error)
            raise SolutionError(f"'output' doesn't fit its type: {text}", path="output") from None


@dataclass(slots=True)
class ArrivedAnswer:
    """The parts of an answer that have arrived; `output` may hold references (O7), `authored` is as it was written.

    `finished` is the output as the caller's type, None if it has references.
    """

    meta: dict[str, Any] | None = None
    output: Template | None = None
    authored: Json = None
    finished: Any = None
    calls: list[Call] = field(default_factory=list[Call])
    errors: list[ActumError] = field(default_factory=list[ActumError])
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    """The name of the model."""
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
    """Ask until an answer is usable. The frame is returned one rung lower if the provider refused its schema, and for
    another model of the chain if that one answered. `settled` is awaited before each request; `begin` traces requests,
    `gate` limits requests to models that others ask, too, and `post` puts requests into batches.

    Raises:
        SolutionError: no answer was usable.
        RequestWaits: the request waits in a batch.
        ModelError: the model failed, after its adapter's retries, and after `retries` for answers that broke off.
    """
    complaint: str | None = None
    failed = 0
    while True:
        request, frame = asker.before(complaint, frame)
        request = await frame.sent(request)
        if settled is not None:
            await settled()
        answer, target = ArrivedAnswer(), speaker(model, frame)
        if post is not None:
            admitted = await post(target, request)
        else:
            admitted = target if gate is None else Gated(target, gate, settled, is_last=target is chain_of(model)[-1])
        attempt = _attempt(admitted, request, answer, frame, judge, asker, listener)
        try:
            await (attempt if begin is None else _traced(begin(target, request), attempt, answer))
            return answer, frame
        except ModelError as error:
            fallback = next_frame(model, frame, error)
            if fallback is not None:
                frame = fallback
                asker.restart()
                asker.again(error)
                continue
            was_retried = error.code in PASSING and not answer.has_begun
            if was_retried or not error.retryable or failed >= retries or not await _pause(target, error, failed):
                raise
            problem: ActumError = error
        except (AnswerSyntax, SolutionError) as error:
            problem = error if isinstance(error, SolutionError) else SolutionError(str(error))
            complaint = f"Your last answer was not usable: {problem.message}. Answer again, whole."
            if isinstance(error, AnswerSyntax):
                frame = frame.disproved(target)
        failed += 1
        if failed > retries:
            attempts = "answer was" if failed == 1 else f"{failed} answers were"
            raise SolutionError(f"the model's {attempts} not usable: {problem.message}", path=problem.path) from problem
        asker.restart()
        asker.again(problem)


async def _pause(model: Model, error: ModelError, failed: int) -> bool:
    """Wait as the adapter does before a broken answer is asked for again; False if the wait would be too long."""
    retrying: Any = getattr(model, "retrying", None)
    if retrying is None or error.code not in PASSING:
        return True
    seconds: float | None = retrying.pause(failed, error)
    if seconds is not None:
        await retrying.sleep(seconds)
    return seconds is not None


async def _traced(span: Span, attempt: Awaitable[None], answer: ArrivedAnswer) -> None:
    """Make a request with its span current, so that spans of the model's library are below it."""
    try:
        with span.current():
            await attempt
    except BaseException as error:
        failed = SolutionError(str(error)) if isinstance(error, AnswerSyntax) else error
        span.end(ending_of(failed, answer.usage))
        raise
    span.end(RequestEnded(answer.usage, answer.calls, answer.authored))


async def _attempt(
    model: Model,
    request: ModelRequest,
    answer: ArrivedAnswer,
    frame: Frame,
    judge: Judge,
    asker: Asker,
    listener: Listener | None,
) -> None:
    parser = AnswerParser()
    follower = OutputFollower(parser, frame, listener, is_literal=judge.is_literal) if listener is not None else None
    try:
        async with _streamed(model, request, answer) as deltas:
            while True:
                # Only what fails here is the model's fault. A generator that wraps such errors would cost every delta.
                try:
                    delta = await anext(deltas)
                except StopAsyncIteration:
                    break
                except ActumError:
                    raise
                except Exception as error:
                    raise _model_failure(model, error) from error
                if isinstance(delta, Usage):
                    answer.usage = delta
                    continue
                if isinstance(delta, Reasoning):
                    asker.heard(delta.text, 1)
                    if listener is not None and delta.text:
                        listener.thought(delta.text)
                    continue
                answer.has_begun = answer.has_begun or bool(delta)
                is_short = isinstance(delta, str) and len(delta) <= _MOST_AT_ONCE  # pyright: ignore[reportUnnecessaryIsInstance] -- a model may be anybody's
                for piece in (delta,) if is_short else _pieces(model, delta):
                    before = parser.signs
                    for part in parser.feed(piece):
                        _take(part, answer, frame, judge, asker)
                        if follower is not None and isinstance(part, Member) and part.name == "output":
                            follower.end(answer.authored)
                    asker.heard(piece, parser.signs - before)
                    if follower is not None:
                        follower.update()
        parser.finish()
    finally:
        answer.model = model.name
        requests = max(1, answer.usage.requests)  # a model may report nothing but tokens, or nothing at all
        fallbacks = 1 if frame.speaker else answer.usage.fallbacks
        answer.usage = replace(answer.usage, requests=requests, fallbacks=fallbacks)
        asker.after(answer.usage)


_MOST_AT_ONCE = 65_536
"""How many characters are read before the budget is checked (L5)."""
_TAIL = 64
"""How many characters after a refused output are read for the usage."""


def _pieces(model: Model, text: Any) -> Iterator[str]:
    """A long text, piece by piece.

    Raises:
        ModelError: it isn't text.
    """
    if not isinstance(text, str):
        kind = type(text).__name__
        raise ModelError(f"the model {model.name!r} has yielded a {kind}; what it yields is text, Reasoning or Usage")
    for start in range(0, len(text), _MOST_AT_ONCE):
        yield text[start : start + _MOST_AT_ONCE]


@asynccontextmanager
async def _streamed(
    model: Model, request: ModelRequest, answer: ArrivedAnswer
) -> AsyncGenerator[AsyncIterator[str | Reasoning | Usage]]:
    """The model's deltas, whose stream is closed on leaving, also before its end: then no further tokens are paid for.

    The output ends an answer as a rule, so if it is refused, the few characters after it are read for the usage.
    """
    try:
        stream = model.stream(request)
        deltas = aiter(stream)
    except ActumError:
        raise
    except Exception as error:
        raise _model_failure(model, error) from error
    async with closing(stream):
        try:
            yield deltas
        except SolutionError as error:
            if (error.path or "").startswith("output"):
                await _read_tail(deltas, answer)
            raise


async def _read_tail(deltas: AsyncIterator[str | Reasoning | Usage], answer: ArrivedAnswer) -> None:
    length = 0
    with suppress(Exception):  # the refusal is raised instead
        while length <= _TAIL:
            delta = await anext(deltas)
            if isinstance(delta, Usage):
                answer.usage = delta
            else:
                length += len(delta.text if isinstance(delta, Reasoning) else delta)


def _model_failure(model: Model, error: Exception) -> ModelError:
    return ModelError(f"the model {model.name!r} failed: {error_text(error)}")


def _take(part: Element | Member, answer: ArrivedAnswer, frame: Frame, judge: Judge, asker: Asker) -> None:
    asker.arrived(part.text)
    if isinstance(part, Element):
        if part.text == "null" and not frame.composition.tools:
            return  # without tools, `calls` is a list of null for decoders that know no empty list
        call = _call(part, frame)
        if isinstance(call, Call):
            answer.calls.append(call)
        else:
            answer.errors.append(call)
        asker.element(part.at, call)
        return
    try:
        value = _value(part)
    except NotJson as error:
        raise SolutionError(str(error), path=part.name) from None
    if part.name == "meta":
        if frame.composition.meta:  # one that wasn't asked for is ignored (T5)
            value = frame.lowered.restore_meta(value)
            if value is not None and (problem := judge.meta.complaint(value)) is not None:
                raise SolutionError(f"'meta' doesn't fit its schema: {problem}", path="meta")
            answer.meta = value if isinstance(value, dict) else None
    else:
        answer.authored = value if frame.lowered.rung is None else frame.lowered.restore_output(value)
        answer.output, answer.finished = _output(answer.authored, judge)


def _value(part: Element | Member) -> Json:
    if part.refused is not None:
        raise NotJson(part.refused)
    return decode(part.text)


def _call(part: Element, frame: Frame) -> Call | CallError:
    try:
        value = _value(part)
        if not isinstance(value, dict):
            raise NotJson(f"a call must be a JSON object, not {type(value).__name__}")
        # Without a rung, the schema was sent as composed, and calls come back so.
        return Call.of(normalised(value if frame.lowered.rung is None else frame.lowered.restore_call(value)))
    except NotJson as error:
        return InvalidParameters(str(error), path=f"calls[{part.at}]")
    except CallError as error:
        return error


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
