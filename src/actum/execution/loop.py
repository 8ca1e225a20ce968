"""The loop of a run: ask, let the calls run, look at the output, ask again (L1-L5, L7). Only the order of the steps."""

from __future__ import annotations

import asyncio
from bisect import bisect
from collections import Counter
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from os import urandom
from typing import Any

from ..dataflow.expression import MISSING
from ..dataflow.reference import Reference
from ..dataflow.template import Reading, template
from ..errors import ActumError, LimitExceeded, ModelError, NoProgress, SolutionError
from ..events import RepairStarted, RequestFinished, RunFinished
from ..generation.ask import Answered, ask
from ..generation.fallback import chain_of
from ..generation.model import Model
from ..generation.offer import REVEALED
from ..protocol.approvals import is_decision
from ..protocol.context import Context
from ..protocol.marks import Marks
from ..protocol.message import OF
from ..protocol.readings import with_filters
from ..protocol.solution import Result, Solution
from ..protocol.turns import next_turn, turn_starts
from ..protocol.usage import Usage
from ..schema.json import Json, JsonObject, encode
from ..spans import RunEnded, Span, within
from . import programs
from .budget import Budget, Spent
from .calls.arriving import Arriving
from .calls.outcome import Finished, GoOn, Outcome, Outcomes, Waiting
from .calls.readiness import Readiness
from .emitter import Emitter
from .ground import Ground
from .record import entries
from .record.journal import Journal
from .record.plans import standing_plans
from .script import Script, Wanted
from .setup import Setup
from .texts import Texts
from .tracing import run_begun
from .turn import Turn


class Loop:
    """One run. `result` is its state at any time; `run` continues until there is an output."""

    def __init__(self, setup: Setup, budget: Budget, emit: Emitter) -> None:
        self._run = setup.run or urandom(16).hex()
        """The id of this run: the keys of the calls that its answers make are made from it (C9)."""
        self._setup = setup
        self._budget = budget
        own, self._marks = _begun(setup.context, self._run)
        said: list[JsonObject] = []
        self._at_turn = 0
        """Which turn of a conversation it is, counted where plans of earlier ones stand."""
        if self._marks.plans and self._marks.standing:
            own, said = next_turn(own)
            self._at_turn = len(turn_starts(own.messages))
        self._frame = setup.frame(setup.context)
        self._judge = setup.judge(budget)
        self._span: Span | None = None
        if emit.trace is not None:
            self._span = emit.trace.begin(run_begun(self._run, setup.runtime.model, own.messages, emit))
            emit = replace(emit, trace=self._span, run=self._run)
        self._emit = emit
        trace = "" if self._span is None else self._span.traceparent
        self._journal = Journal(own, setup.runtime.handlers, setup.record, run=self._run, trace=trace, said=said)
        self._readiness = Readiness(
            Ground(self._journal, self._frame.toolset, budget, emit, setup.runtime.doings),
            delegate=setup.delegate,
            approve=setup.runtime.approve,
            parallel=setup.config.parallel,
        )
        self._arriving = Arriving(self._readiness)
        self._calls = Outcomes(self._readiness, self._arriving.declared, drain=setup.config.drain)
        self._next_answer = self._marks.next_answer
        self._scripts: list[Script] = []
        self._ended: list[int] = []
        """The numbers of the answers of which nothing is open any more, until the record says so."""
        self._turn: Turn | None = None
        self._solutions: list[Solution[Any]] = []
        self._errors: list[ActumError] = []
        self._usage = Usage()
        self._output: Any = None
        self._last: tuple[Counter[str], int] | None = None
        self._is_withheld = False
        """Whether the last answer had an output that was not delivered (O9)."""
        self._may_be_done = False
        """Whether a call beside it was carried out, or may have been, and has no result (C15)."""
        self._is_waiting = False
        """Whether the run ends because what is left of it waits for decisions (L4)."""

    @property
    def result(self) -> Result[Any]:
        """The state of the run; its context can be resumed (L8)."""
        return Result(
            output=self._output,
            context=self._journal.context(),
            solutions=list(self._solutions),
            usage=self.usage,
            errors=[*self._errors, *self._calls.replaced, *(failure.error for failure in self._calls.failures)],
            waiting=self._calls.waiting,
            makers=self.makers,
            live=self._calls.live,
        )

    @property
    def usage(self) -> Usage:
        """What the run has cost so far, its delegates included."""
        return self._budget.usage if self._emit.depth == 0 else self._usage

    @property
    def spent(self) -> Spent:
        """What it has spent of its limits so far."""
        return self._budget.spent

    @property
    def makers(self) -> dict[str, str]:
        """Who has carried out the calls of each tool so far (X0)."""
        return self._calls.makers

    @property
    def has_effects(self) -> bool:
        """Whether a call has begun that doesn't only read, here or in a delegate (T14)."""
        return bool(self._calls.effects)

    def run(self) -> Coroutine[Any, Any, Result[Any]]:
        """Run to the end.

        Raises:
            ActumError: what ended the run, with the partial result as its `result`.
        """
        return self._whole() if self._span is None else self._traced(self._span)

    async def _traced(self, span: Span) -> Result[Any]:
        result = await within(span, self._whole())
        span.end(RunEnded(result.output, result.usage, result.waiting))
        return result

    async def _whole(self) -> Result[Any]:
        try:
            failure = await self._owning_tasks()
        finally:
            # Also where the run was cancelled: a context without the open plans could not be resumed. The errors come
            # last, behind what their calls have written.
            self._let_plans_stand()
            self._tell_model()
        result = self.result
        if failure is None:
            if self._journal.settled is not None and self._emit.depth == 0:
                await self._journal.settled()
            if self._emit.sink:
                self._emit(RunFinished(result=result))
            return result
        if isinstance(failure, ActumError):  # what code behind a call has raised may bring the result of its own group
            failure.result = replace(result, not_undone=getattr(failure.result, "not_undone", []))
        raise failure

    async def _owning_tasks(self) -> BaseException | None:
        """Run inside a task group that nothing outlives; what ended the run is returned, not wrapped in a group."""
        failure: BaseException | None = None
        try:
            async with asyncio.timeout(self._budget.seconds_left), self._readiness:
                try:
                    await self._to_the_end()
                except Exception as error:
                    failure = error
        except TimeoutError:
            return self._budget.out_of_time()
        except BaseExceptionGroup as group:
            return group.exceptions[0]
        return failure

    async def _to_the_end(self) -> None:
        await self._resolve_beforehand()
        outcome = self._delivered() or await self._standing()
        if self._journal.is_told_more:
            outcome = await self._next_turn(outcome)
        if isinstance(outcome, GoOn):
            self._tell_model()
            if self._setup.runtime.model is None:
                self._check_without_model()
            else:
                if self._scripts:
                    self._withhold(*(script for script in self._scripts if script.turn == self._at_turn))
                outcome = await self._until_the_end(self._setup.runtime.model)
        await self._calls.drain()
        self._is_waiting = isinstance(outcome, Waiting)
        if isinstance(outcome, Finished):
            self._tell_model()  # what failed beside it comes first: the output is the last message
            self._deliver(outcome)

    async def _next_turn(self, outcome: Outcome) -> Outcome:
        """Leave the turn whose plan has stood, as far as it has come, and begin the next one (M4)."""
        if isinstance(outcome, Finished):
            await self._calls.drain()
        self._tell_model()
        if self._setup.runtime.model is None:
            return outcome
        if isinstance(outcome, Finished):
            self._leave(outcome)
        elif isinstance(outcome, GoOn):
            self._withhold(*self._scripts)
        self._journal.hear()
        self._at_turn += 1
        return await self._standing()

    async def _until_the_end(self, model: Model) -> Outcome:
        while isinstance(outcome := await self._tick(model), GoOn):
            self._tell_model()
        return outcome

    async def _resolve_beforehand(self) -> None:
        """Let the tools that ask for it be offered as their delegates are (D8)."""
        contracted = await self._setup.contracted()
        if contracted is not self._setup:
            self._setup = contracted
            self._reframe(contracted.context)

    def _reframe(self, context: Context) -> None:
        self._frame = self._setup.frame(context)
        self._arriving.offer(self._frame.toolset)

    # The output

    def _delivered(self) -> Finished | None:
        """The output that an earlier run has left as the last message: there is nothing else to do (M4).

        A decision behind it may be about a plan that still stands; where none does, it changes nothing.
        """
        messages = self._journal.messages
        at = len(messages) - 1
        if self._marks.plans and not self._marks.standing:
            while at >= 0 and is_decision(messages[at]):
                at -= 1
        last = messages[at] if at >= 0 else {}
        if last.get("type") != "output" or OF not in last or self._journal.is_told_more:
            return None
        try:
            self._output = self._judge.finished(last["output"])
        except SolutionError:
            return None  # another schema asks another question
        self._tell_texts(last["output"])
        return Finished(self._output, None, "")

    def _deliver(self, outcome: Finished) -> None:
        """Give the run its output, and leave it as the last message (M4)."""
        self._output = outcome.output
        if outcome.of:
            self._tell_texts(outcome.value, of=outcome.of)
            self._leave(outcome)

    def _leave(self, outcome: Finished) -> None:
        """Leave an output as a message, so that whoever goes on from here knows that its plan is settled (M4)."""
        output = {"type": "output", "output": outcome.value, OF: outcome.of}
        self._journal.add(with_filters(output, outcome.filters))

    def _tell_texts(self, output: Json, of: str = "") -> None:
        """Tell for good what has not been told so of the strings of the output that is delivered (O9)."""
        if self._emit.sink:
            turn = self._turn
            texts = turn.texts if turn is not None and str(turn.script.number) == of else Texts(self._emit)
            texts.deliver(output)

    # Plans that stand

    async def _standing(self) -> Outcome:
        """Make the calls of the plans that stand in the context, and deliver their outputs in order (M4, P3)."""
        scripts = list(self._resumed()) if self._marks.plans and self._marks.standing else []
        if not scripts:
            return GoOn()
        self._scripts += scripts
        reading = Reading(allowance=self._budget.allowance)
        wanted = [
            Wanted(output=template(script.output, reading), script=script, finished=self._judge.finished)
            for script in scripts
            if script.output is not None
        ]
        if not wanted:
            return await self._calls.settle()
        for one in wanted[:-1]:
            outcome = await self._calls.settle(one)
            self._check_program(one.script, outcome)
            if isinstance(outcome, Finished):
                self._leave(outcome)
        outcome = await self._calls.settle(wanted[-1])
        self._check_program(wanted[-1].script, outcome)
        return outcome

    def _check_program(self, script: Script, outcome: Outcome) -> None:
        """End the run where a plan that no model wrote has failed, unless a model may go on with it (P5).

        What a model owes has not failed; and what somebody has said since begins another turn.
        """
        failures = self._calls.failures
        if not (script.is_given and failures and isinstance(outcome, GoOn)) or self._journal.is_told_more:
            return
        if self._calls.open_calls()[1] and all(one.call is None for one in failures):
            return
        if (limited := next((one.error for one in failures if isinstance(one.error, LimitExceeded)), None)) is not None:
            raise limited
        error, repair = programs.failed(failures), self._setup.config.repair
        may_repair = repair == "always" or (repair and script.number not in self._calls.effects)
        if self._setup.runtime.model is None or not may_repair:
            raise error
        if self._emit.sink:
            self._emit(RepairStarted(answer=script.number, error=error))

    def _resumed(self) -> Iterator[Script]:
        """The plans that stand, once each, with their calls taken in."""
        self._check_affordable()
        journal = self._journal
        marks, starts = Marks.of(journal.messages), turn_starts(journal.messages)
        known = {script.number for script in self._scripts}
        reading = Reading(allowance=self._budget.allowance)
        for plan in standing_plans(journal.messages, journal.memory, marks, journal.data_kinds, reading):
            if "lazy" not in (plan.mode, self._setup.config.mode) and plan.authored.number not in known:
                if self._setup.config.repair is True and programs.had_effects(
                    plan.authored.number, marks, journal.messages, self._frame.toolset
                ):
                    self._calls.effects.add(plan.authored.number)
                script = self._arriving.resume(plan)
                script.turn = bisect(starts, plan.authored.start)
                yield script

    def _check_affordable(self) -> None:
        """Don't even read a fresh plan of which no call could start: delegates that fan out hold many (L5)."""
        is_fresh = not any("_call" in message for message in self._journal.messages)
        if is_fresh and any(plan.calls for plan in self._marks.plans):
            self._budget.check_calls()

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
        if any(script.output is not None for script in self._scripts) and self._errors:
            raise self._errors[0]

    # One tick

    async def _tick(self, model: Model) -> Outcome:
        """Ask once and let the calls run (L1)."""
        self._refresh_tools()
        self._arriving.reopen()
        before = self._journal.writes
        is_lazy = self._setup.config.mode == "lazy"
        turn = self._turn = Turn(
            script=Script(number=self._next_answer, run=self._run, start=len(self._journal), turn=self._at_turn),
            journal=self._journal,
            calls=None if is_lazy else self._arriving,
            outcomes=self._calls,
            budget=self._budget,
            emit=self._emit,
            spent=self._spend,
            asked=lambda: self._usage.requests,
            notices=(_WITHHELD.format(_LEAVE if self._may_be_done else _MAKE),) if self._is_withheld else (),
        )
        self._is_withheld = self._may_be_done = False
        retries = self._setup.config.retries
        settled = self._journal.settled
        self._budget.check_price(chain_of(model))
        answered, self._frame = await ask(
            model,
            self._frame,
            self._judge,
            turn,
            turn,
            retries=retries,
            listener=turn.listener,
            settled=settled,
            begin=turn.begin,
            gate=self._journal.gate,
        )
        script = turn.script
        self._next_answer = script.number + 1
        output = self._record(script, answered)
        if is_lazy:
            self._output = output
            if output is not None and answered.output is not None:
                self._tell_texts(answered.output.value, of=str(script.number))
            return Waiting()
        self._arriving.close(script)
        outcome = await self._calls.settle(self._wanted(script, answered))
        script.is_concluded = True
        if isinstance(outcome, GoOn):
            self._withhold(script)
            self._let_plans_stand()
            self._check_progress(script, before)
            self._calls.forget()
        return outcome

    def _withhold(self, *scripts: Script) -> None:
        """Drop the outputs of answers beside which a call has failed; the model is told (O9)."""
        for script in scripts:
            if script.output is not None:
                self._is_withheld, script.output = True, None
                self._journal.withhold(script.number, script.start if script.is_planned else None)

    def _wanted(self, script: Script, answered: Answered) -> Wanted | None:
        if answered.output is None:
            return None
        instances = self._journal.instances if self._setup.config.instanced_output else ()

        def judged(_: Json) -> Any:
            return answered.finished  # what refers to nothing was judged when it arrived

        finished = self._judge.finished if answered.output.expressions else judged
        return Wanted(output=answered.output, script=script, finished=finished, instances=instances)

    def _record(self, script: Script, answered: Answered) -> Any:
        """Keep the answer as a solution; return its output unless that must be resolved first."""
        output: Any = None
        shown: Any = None
        if answered.output is not None:
            script.output = shown = answered.authored
            if not answered.output.expressions:
                output = shown = answered.finished
        if answered.output is not None and self._journal.is_recorded:
            self._journal.tell(entries.Answered(answer=script.number, start=script.start, output=answered.authored))
        solution = script.solution(answered, shown, self._journal.instances)
        self._solutions.append(solution)
        if self._emit.sink:
            self._emit(RequestFinished(solution=solution, usage=answered.usage, model=answered.model))
        return output

    def _check_progress(self, script: Script, before: int) -> None:
        """End a run that goes round in circles: the same calls again, and nothing written since the first time (L4)."""
        calls = Counter(encode(call, sort_keys=True) for call in script.calls)
        if self._last is not None and self._last == (calls, self._journal.writes):
            errors = [failure.error for failure in self._calls.failures]
            last = f": {errors[-1].message}" if errors else ""
            what = "the same calls" if calls else "no calls and no output"
            raise NoProgress(f"the model answered {what} again and nothing was written in between{last}", errors=errors)
        self._last = (calls, before)

    def _refresh_tools(self) -> None:
        """Spell out the tools that a call has asked for (T12)."""
        if self._frame.toolset.hidden and self._journal.memory.read(Reference(REVEALED)) is not MISSING:
            self._reframe(self._journal.context())

    def _spend(self, usage: Usage) -> None:
        self._usage += usage

    def _tell_model(self) -> None:
        """Append the errors of the tick together, behind what its calls have written (L2)."""
        for failure in self._calls.take_failures() if self._calls.failures else ():
            told = failure.told if self._setup.config.sealed else None
            self._journal.fail(failure.error, failure.call, failure.of, told, failure.marks)
            self._errors.append(failure.error)
            self._may_be_done = self._may_be_done or failure.outcome in ("unusable", "unknown")
        for number in self._ended:  # only now: in an answer that is closed, no call is open that has failed
            if self._journal.is_recorded:
                self._journal.tell(entries.Closed(number))
        self._ended.clear()

    def _let_plans_stand(self) -> None:
        """Put a plan message where an answer began of which calls are still open (P2, L8)."""
        if self._turn is not None:
            self._scripts.append(self._turn.script)
            self._turn = None
        are_open = self._calls.open_scripts()
        is_lazy = self._setup.config.mode == "lazy"
        for script in reversed(self._scripts):  # from the last, so that the earlier ones' beginnings don't move
            is_kept = script.output is not None and not is_lazy  # it is delivered once others' calls are done (O9)
            is_open = script.number in are_open or not script.is_concluded or (is_kept and self._is_waiting)
            if is_open and not script.is_planned and (script.calls or script.kept or is_kept):
                script.is_planned = True
                self._journal.insert(script.start, script.message())
        stay = [script for script in self._scripts if script.number in are_open or script.is_planned]
        for script in self._scripts:
            if script not in stay and script.is_concluded:
                self._ended.append(script.number)
        self._scripts = stay


_WITHHELD = "Your last `output` was not delivered: something failed. What has been done stays done: {}."
"""What a model is told beside the errors, so that it repeats neither what is done nor what is not true."""
_MAKE = "make what is missing, and answer the output again"
_LEAVE = "don't repeat what was, or may have been; answer the output again"


def _begun(context: Context, run: str) -> tuple[Context, Marks]:
    """The run's own copy of its context, in which each plan has its number, and what its marks say (C9)."""
    marks = Marks.of(context.messages)
    if not marks.plans:
        return context, marks
    own = marks.marked(context.messages, run)
    return Context.checked(own, context.data_kinds, context.origin), Marks.of(own)
