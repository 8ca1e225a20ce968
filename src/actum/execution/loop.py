"""The loop of a run: ask, let the calls run, look at the output, ask again (L1-L5, L7). Only the order of the steps."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from os import urandom
from typing import Any

from ..dataflow.expression import MISSING
from ..dataflow.reference import Reference
from ..errors import ActumError, ModelError, NoProgress, RequestWaits
from ..events import RequestFinished, RunFinished
from ..generation.ask import ArrivedAnswer, ask
from ..generation.model import Model
from ..generation.model_chain import chain_of, unsent
from ..generation.offer import REVEALED
from ..protocol.config import Limits
from ..protocol.context import Context
from ..protocol.marks import Marks, next_turn, turn_starts
from ..protocol.solution import Result, Solution
from ..protocol.usage import Usage
from ..schema.json import Json, JsonObject, encode
from ..spans import RunReturned, Span, within
from .asking import Asking
from .budget import Budget, Spent, check_price
from .calls.intake import Intake
from .calls.outcomes import Finished, GoOn, Outcome, Outcomes, Paused
from .calls.readiness import Readiness
from .emitter import Emitter, run_begun
from .ground import Ground
from .open_answers import OpenAnswers
from .record.journal import Journal
from .record.recorder import OutputArrived
from .script import Script, Wanted
from .setup import Setup


class Loop:
    """One run. `result` is its state at any time; `run` continues until there is an output."""

    def __init__(self, setup: Setup, budget: Budget, emit: Emitter) -> None:
        self._run = setup.record.run or urandom(16).hex()
        """The id of this run: the keys of the calls that its answers make are made from it (C9)."""
        self._setup = setup
        self._config = setup.config
        self._budget = budget
        context, self._marks = _mark_plans(setup.context, self._run)
        new: list[JsonObject] = []
        self._at_turn = 0
        """Which turn of a conversation it is, counted where plans of earlier ones stand."""
        if self._marks.standing:
            context, new = next_turn(context)
            self._at_turn = len(turn_starts(context.messages))
        self._frame = setup.frame(setup.context)
        self._judge = setup.judge(budget)
        self._span: Span | None = None
        if emit.trace is not None:
            self._span = emit.trace.begin(run_begun(self._run, setup.runtime.model, context.messages, emit))
            emit = replace(emit, trace=self._span, run=self._run)
        self._emit = emit
        trace = "" if self._span is None else self._span.traceparent
        self._journal = Journal(context, setup.record, run=self._run, trace=trace, new=new)
        self._ground = Ground(self._journal, self._frame.toolset, setup.runtime, budget, emit)
        self._readiness = Readiness(self._ground, setup.delegate)
        self._arriving = Intake(self._readiness)
        self._calls = Outcomes(self._readiness, self._arriving.declared, drain=setup.config.drain)
        self._answers = OpenAnswers(self._ground, self._arriving, self._calls, self._judge, self._marks.next_answer)
        self._solutions: list[Solution[Any]] = []
        self._notes = unsent(setup.runtime.model, self._config.settings)
        self._own_budget = Budget(Limits())
        """What the run itself has spent, without its readers and delegates."""
        self._last: tuple[Counter[str], int] | None = None
        self._is_waiting = False
        """Whether the run ends because what is left of it waits for decisions (L4)."""

    @property
    def result(self) -> Result[Any]:
        """The state of the run; its context can be resumed (L8)."""
        failures = (failure.error for failure in self._ground.failures)
        return Result(
            output=self._answers.output,
            context=self._journal.context(),
            solutions=list(self._solutions),
            usage=self.usage,
            errors=[*self._answers.errors, *self._ground.replaced, *failures],
            waiting=list(self._ground.gates),
            makers=self.makers,
            live=self._calls.live,
            notes=list(self._notes),
        )

    @property
    def usage(self) -> Usage:
        """What the run has cost so far, its delegates included."""
        return (self._budget if self._emit.depth == 0 else self._own_budget).usage

    @property
    def spent(self) -> Spent:
        """What it has spent of its limits so far."""
        return self._budget.spent

    @property
    def makers(self) -> dict[str, str]:
        """Who has carried out the calls of each tool so far (X0)."""
        return dict(self._readiness.results.makers)

    @property
    def has_effects(self) -> bool:
        """Whether a call has begun that doesn't only read, here or in a delegate (T14)."""
        return bool(self._ground.effects)

    async def run(self) -> Result[Any]:
        """Run to the end.

        Raises:
            ActumError: what ended the run, with the partial result as its `result`.
        """
        if self._span is None:
            return await self._carry_out()
        result = await within(self._span, self._carry_out())
        self._span.end(RunReturned(result.output, result.usage, result.waiting))
        return result

    async def _carry_out(self) -> Result[Any]:
        try:
            failure = await self._run_in_group()
        finally:
            # Also where the run was cancelled: a context without the open plans could not be resumed. The errors come
            # last, behind what their calls have written.
            self._answers.stand(is_waiting=self._is_waiting)
            self._answers.tell_failures()
        result = self.result
        if failure is None:
            if self._journal.settled is not None and self._emit.depth == 0:
                await self._journal.settled()
            if self._emit.sink:
                self._emit(RunFinished(result=result))
            return result
        if isinstance(failure, ActumError):  # what code behind a call has raised may bring the result of its own group
            failure.result = replace(result, not_undone=getattr(failure.result, "not_undone", []))
            is_last = failure.code == "model_script_exhausted" or failure.data.get("limit") == "requests"
            if is_last and result.errors and self._emit.depth == 0:  # why it had to ask again
                failure.add(f"; the last error: {result.errors[-1].message}")
        raise failure

    async def _run_in_group(self) -> BaseException | None:
        """Run inside a task group that nothing outlives; what ended the run is returned, not wrapped in a group."""
        failure: BaseException | None = None
        try:
            async with asyncio.timeout(self._budget.seconds_left), self._readiness:
                try:
                    await self._run_ticks()
                except Exception as error:
                    failure = error
        except TimeoutError:
            return self._budget.out_of_time()
        except BaseExceptionGroup as group:
            return group.exceptions[0]
        return failure

    async def _run_ticks(self) -> None:
        setup = await self._setup.with_contracts()
        if setup is not self._setup:  # tools are offered as their delegates are that ask for it (D8)
            self._setup = setup
            self._reframe(setup.context)
        outcome: Outcome | None = self._answers.find_delivered(self._marks)
        if outcome is None:
            outcome = await self._answers.resume() if self._marks.standing else GoOn()
        if self._journal.has_next_turn:
            outcome = await self._next_turn(outcome)
        if isinstance(outcome, GoOn):
            self._answers.tell_failures()
            if self._setup.runtime.model is None:
                self._check_without_model()
            else:
                self._answers.withhold(*(script for script in self._answers.scripts if script.turn == self._at_turn))
                self._calls.forget()
                try:
                    while isinstance(outcome := await self._tick(self._setup.runtime.model), GoOn):
                        self._answers.tell_failures()
                except RequestWaits:  # what was begun and nobody waits for may end first
                    await self._calls.drain()
                    raise
        await self._calls.drain()
        self._is_waiting = isinstance(outcome, Paused)
        if isinstance(outcome, Finished):
            self._answers.tell_failures()  # what failed beside it comes first: the output is the last message
            self._answers.deliver(outcome)

    async def _next_turn(self, outcome: Outcome) -> Outcome:
        """Leave the turn whose plan has stood, as far as it has come, and begin the next one (M4)."""
        if isinstance(outcome, Finished):
            await self._calls.drain()
        self._answers.tell_failures()
        if self._setup.runtime.model is None:
            return outcome
        if isinstance(outcome, Finished):
            self._answers.leave(outcome)
        elif isinstance(outcome, GoOn):
            self._answers.withhold(*self._answers.scripts)
        self._journal.hear()
        self._at_turn += 1
        return await self._answers.resume()

    def _reframe(self, context: Context) -> None:
        self._frame = self._setup.frame(context)
        self._ground.toolset = self._frame.toolset

    def _check_without_model(self) -> None:
        if not self._marks.plans:
            raise ModelError(
                "there is no model to ask and no plan to run: name a model, or give a plan or a saved solution",
                code="model_missing",
            )
        _, owed = self._calls.open_calls()
        if owed:
            raise ModelError(
                f"the call {owed[0].tool!r} is latent: it needs a model, and none is set", code="model_missing"
            )
        if any(script.output is not None for script in self._answers.scripts) and self._answers.errors:
            raise self._answers.errors[0]

    async def _tick(self, model: Model) -> Outcome:
        """Ask once and let the calls run (L1)."""
        self._refresh_tools()
        self._arriving.reopen()
        before = self._journal.writes
        is_lazy = self._config.mode == "lazy"
        turn = self._answers.turn = Asking(
            script=Script(
                number=self._answers.next_number, run=self._run, start=len(self._journal), turn=self._at_turn
            ),
            journal=self._journal,
            calls=None if is_lazy else self._arriving,
            outcomes=self._calls,
            budget=self._budget,
            emit=self._emit,
            own_budget=self._own_budget,
            notices=self._answers.notices(),
            errors=self._answers.errors,
        )
        retries = self._config.retries
        settled = self._journal.settled
        check_price(self._budget.limits, chain_of(model))
        answer, self._frame = await ask(
            model,
            self._frame,
            self._judge,
            turn,
            retries=retries,
            listener=turn.listener,
            settled=settled,
            begin=turn.begin,
            gate=self._journal.gate,
            post=self._journal.post,
        )
        script = turn.script
        self._answers.next_number = script.number + 1
        output = self._record(script, answer)
        if is_lazy:
            self._answers.output = output
            if output is not None and answer.output is not None:
                self._answers.tell_texts(answer.output.value, of=str(script.number))
            return Paused()
        self._arriving.close(script)
        outcome = await self._calls.settle(self._wanted(script, answer))
        script.is_concluded = True
        if isinstance(outcome, GoOn):
            self._answers.withhold(script)
            self._answers.stand(is_waiting=False)
            self._check_progress(script, before)
            self._calls.forget()
        return outcome

    def _wanted(self, script: Script, answer: ArrivedAnswer) -> Wanted | None:
        if answer.output is None:
            return None
        instances = self._journal.instances if self._config.instanced_output else ()

        def as_judged(_: Json) -> Any:
            return answer.finished  # what refers to nothing was judged when it arrived

        finished = self._judge.finished if answer.output.expressions else as_judged
        return Wanted(output=answer.output, script=script, finished=finished, instances=instances)

    def _record(self, script: Script, answer: ArrivedAnswer) -> Any:
        """Keep the answer as a solution; return its output unless that must be resolved first."""
        output: Any = None
        shown: Any = None
        if answer.output is not None:
            script.output = shown = answer.authored
            if not answer.output.expressions:
                output = shown = answer.finished
        if answer.output is not None and self._journal.is_recorded:
            self._journal.tell(OutputArrived(answer=script.number, start=script.start, output=answer.authored))
        solution = _solution(script, answer, shown, self._journal)
        self._solutions.append(solution)
        if self._emit.sink:
            self._emit(RequestFinished(solution=solution, usage=answer.usage, model=answer.model))
        return output

    def _check_progress(self, script: Script, before: int) -> None:
        """End a run that goes round in circles: the same calls again, and nothing written since the first time (L4)."""
        calls = Counter(encode(call, sort_keys=True) for call in script.calls)
        if self._last is not None and self._last == (calls, self._journal.writes):
            errors = [failure.error for failure in self._ground.failures]
            last = f": {errors[-1].message}" if errors else ""
            same = "the same calls" if calls else "no calls and no output"
            raise NoProgress(f"the model answered {same} again and nothing was written in between{last}", errors=errors)
        self._last = (calls, before)

    def _refresh_tools(self) -> None:
        """Spell out the tools that a call has asked for (T12)."""
        if self._frame.toolset.hidden and self._journal.folding.memory.read(Reference(REVEALED)) is not MISSING:
            self._reframe(self._journal.context())


def _mark_plans(context: Context, run: str) -> tuple[Context, Marks]:
    """The context with a number on each of its plans, copied where it has any, and what its marks say (C9)."""
    marks = Marks.of(context.messages)
    if not marks.plans:
        return context, marks
    messages = marks.marked(context.messages, run)
    return context.with_messages(messages), Marks.of(messages)


async def request_once(setup: Setup, budget: Budget, emit: Emitter) -> Solution[Any]:
    """Ask once, again where the answer is unusable (L3), and give out what was answered as it was authored.

    Raises:
        SolutionError, ModelError, LimitExceeded: there was no usable answer.
    """
    model: Model | None = setup.runtime.model
    assert model is not None
    setup = await setup.with_contracts()
    journal = Journal(setup.context)
    judge = setup.judge(budget)
    script = Script(number=Marks.of(setup.context.messages).next_answer, start=len(journal))
    turn = Asking(script=script, journal=journal, calls=None, budget=budget, emit=emit)
    try:
        frame = setup.frame(setup.context)
        check_price(budget.limits, chain_of(model))
        answer, _ = await ask(model, frame, judge, turn, retries=setup.config.retries, begin=turn.begin)
    except ActumError as error:
        error.result = Result(output=None, context=setup.context, usage=budget.usage)
        raise
    output: Any = None
    if answer.output is not None:
        output = answer.authored if answer.output.expressions else answer.finished
    return _solution(turn.script, answer, output, journal)


def _solution(script: Script, answer: ArrivedAnswer, output: Any, journal: Journal) -> Solution[Any]:
    """An answer for the caller; `output` is None while it isn't known."""
    return Solution(
        meta=answer.meta,
        calls=answer.calls,
        output=output,
        errors=answer.errors,
        instances=journal.instances,
        usage=answer.usage,
        authored=answer.authored,
        start=script.start,
        number=script.number,
        places=dict(script.places),
    )
