"""The loop of a run: ask, let the calls run, look at the output, ask again (L1-L5, L7). Only the order of the steps."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from ..dataflow.expression import MISSING, Expression
from ..dataflow.fold import exported
from ..dataflow.graph import Answer, Status
from ..dataflow.reference import Path, Reference
from ..dataflow.template import Template, template
from ..errors import ActumError, LimitExceeded, ModelError, NoProgress, SolutionError, UnresolvedReference
from ..events import RequestFinished, RunFinished
from ..generation.ask import Answered, ask, solution_of
from ..generation.model import Model
from ..generation.offer import REVEALED
from ..protocol.solution import Result, Solution
from ..protocol.usage import Usage
from ..schema.json import encode
from .asking import Asking, Script
from .budget import Budget
from .complaints import missing_in_output
from .emitter import Emitter
from .journal import Journal
from .resume import standing_plans
from .scheduler import Failure, Scheduler
from .setup import Setup


class Loop:
    """One run. `result` is what it has come to so far, at any time; `run` goes on until there is an output."""

    def __init__(self, setup: Setup, budget: Budget, emit: Emitter) -> None:
        self._setup = setup
        self._budget = budget
        self._emit = emit
        self._journal = Journal(setup.context, setup.runtime.handlers, setup.record)
        self._frame = setup.frame(setup.context)
        self._judge = setup.judge()
        self._scheduler = Scheduler(
            journal=self._journal,
            toolset=self._frame.toolset,
            budget=budget,
            emit=emit,
            delegate=setup.delegate,
            approve=setup.runtime.approve,
            parallel=setup.config.parallel,
        )
        self._scripts: list[Script] = []
        self._solutions: list[Solution[Any]] = []
        self._errors: list[ActumError] = []
        self._usage = Usage()
        self._output: Any = None
        self._last: tuple[Counter[str], int] | None = None

    @property
    def result(self) -> Result[Any]:
        """What the run has come to so far; its context is fit to be resumed (L8)."""
        return Result(
            output=self._output,
            context=self._journal.context(),
            solutions=list(self._solutions),
            usage=self._budget.usage if self._emit.depth == 0 else self._usage,
            errors=[*self._errors, *(failure.error for failure in self._scheduler.failures)],
            waiting=list(self._scheduler.gates),
            makers=dict(self._scheduler.makers),
        )

    async def run(self) -> Result[Any]:
        """Run to the end.

        Raises:
            ActumError: what ended the run, with the partial result as its `result`.
        """
        try:
            failure = await self._owning_tasks()
        finally:
            self._let_plans_stand()
            self._tell_model()
        result = self.result
        if failure is None:
            self._emit(RunFinished, result=result)
            return result
        if isinstance(failure, ActumError) and failure.result is None:
            failure.result = result
        raise failure

    async def _owning_tasks(self) -> BaseException | None:
        """Run inside a task group that nothing outlives; what ended the run is returned, not wrapped in a group."""
        failure: BaseException | None = None
        try:
            async with asyncio.timeout(self._budget.seconds_left), asyncio.TaskGroup() as tasks:
                self._scheduler.bind(tasks)
                try:
                    await self._to_the_end()
                    await self._scheduler.drain(self._setup.config.drain)
                except Exception as error:
                    failure = error
                finally:
                    self._scheduler.cancel()
        except TimeoutError:
            return LimitExceeded(f"the run has taken its {self._budget.limits.seconds} seconds", limit="seconds")
        except BaseExceptionGroup as group:
            return group.exceptions[0]
        return failure

    async def _to_the_end(self) -> None:
        await self._resolve_beforehand()
        if await self._standing():
            return
        self._tell_model()
        if self._setup.runtime.model is None:
            self._check_without_model()
            return
        while not await self._tick(self._setup.runtime.model):
            self._tell_model()

    async def _resolve_beforehand(self) -> None:
        """Let the tools that ask for it be offered as their delegates are (D8)."""
        contracted = await self._setup.contracted()
        if contracted is not self._setup:
            self._setup = contracted
            self._frame = contracted.frame(contracted.context)
            self._scheduler.toolset = self._frame.toolset

    # Plans that stand

    async def _standing(self) -> bool:
        """Run the plans that stand in the context; whether that ends the run (P3)."""
        wanted: Script | None = None
        self._check_affordable()
        for plan in standing_plans(self._journal.messages, self._journal.data_kinds):
            script = Script(plan.index, calls=plan.calls, output=plan.output, is_concluded=True, stands=True)
            if plan.mode == "lazy" or self._setup.config.mode == "lazy":
                continue
            self._scripts.append(script)
            wanted = script if plan.output is not None else wanted
            self._scheduler.items[script.start] = plan.items
            for index, call in enumerate(plan.calls):
                if index in plan.done:
                    self._scheduler.recall(script.answer, index, plan.done[index])
                elif not self._scheduler.is_spent:  # what can't start any more stays in the plan
                    self._scheduler.accept(call, script.answer, index)
            self._scheduler.close(script.answer)
        if not self._scripts:
            return False
        await self._scheduler.rest()
        if wanted is not None and self._finishes(template(wanted.output), wanted.answer):
            return True
        return self._is_held()

    def _check_affordable(self) -> None:
        """Don't even read a fresh plan of which no call could start: delegates that fan out hold many (L5)."""
        messages = self._journal.messages
        is_fresh = not any("_call" in message for message in messages)
        if is_fresh and any(message.get("type") == "plan" and message["plan"] for message in messages):
            self._budget.check_calls()

    def _is_held(self) -> bool:
        """Whether nothing is left but calls that wait for gates (L4)."""
        jobs = self._scheduler.open_jobs()
        return bool(jobs) and not self._scheduler.failures and all(job.node.status is Status.HELD for job in jobs)

    def _check_without_model(self) -> None:
        for job in self._scheduler.open_jobs():
            if job.node.status is Status.OWED:
                name = job.tool.name
                raise ModelError(
                    f"the call {name!r} is latent: it needs a model, and none is set", code="model_missing"
                )
        if any(script.output is not None for script in self._scripts) and self._errors:
            raise self._errors[0]

    # One tick

    async def _tick(self, model: Model) -> bool:
        """Ask once and let the calls run; whether that ends the run (L1)."""
        self._refresh_tools()
        self._scheduler.reopen()
        before = self._journal.writes
        script = Script(len(self._journal))
        self._scripts.append(script)
        is_lazy = self._setup.config.mode == "lazy"
        asking = Asking(
            script=script,
            journal=self._journal,
            scheduler=None if is_lazy else self._scheduler,
            budget=self._budget,
            emit=self._emit,
            spent=self._spend,
        )
        retries = self._setup.config.retries
        answered, self._frame = await ask(model, self._frame, self._judge, asking, asking, retries=retries)
        output = self._record(script, answered)
        if is_lazy:
            self._output = output
            return True
        self._scheduler.close(script.answer)
        await self._scheduler.rest()
        script.is_concluded = True
        return self._ends(script, answered, before)

    def _record(self, script: Script, answered: Answered) -> Any:
        """Keep the answer as a solution; return its output unless that must be resolved first."""
        output: Any = None
        if answered.output is not None and not answered.output.expressions:
            output = self._judge.finished(answered.output.value)
        elif answered.output is not None:
            script.output = answered.authored
        shown = output if script.output is None else script.output
        if answered.output is not None:
            self._journal.answering(script.start, output=answered.authored)
        solution = solution_of(answered, shown, self._journal.instances, script.start)
        self._solutions.append(solution)
        self._emit(RequestFinished, solution=solution, usage=answered.usage)
        return output

    def _ends(self, script: Script, answered: Answered, before: int) -> bool:
        if answered.output is not None and self._finishes(answered.output, script.answer):
            return True
        self._let_plans_stand()
        if self._is_held():
            return True
        self._check_progress(script, before)
        self._scheduler.forget()
        return False

    def _finishes(self, output: Template, answer: Answer) -> bool:
        """Resolve an output and judge it; whether that is the run's. Where not, the model is told why (O7)."""
        try:
            values = [
                self._value(expression, place, answer)
                for expression, place in zip(output.expressions, output.places, strict=True)
            ]
            self._output = self._judge.finished(output.fill(values))
        except (UnresolvedReference, SolutionError) as error:
            if not self._scheduler.failures and not self._is_held():
                self._scheduler.failures.append(Failure(error))
            return False
        return True

    def _value(self, expression: Expression, place: Path, answer: Answer) -> Any:
        instances = self._journal.instances if self._setup.config.instanced_output else ()
        instance = place[0] if place and place[0] in instances else None
        value = self._scheduler.graph.evaluate(expression, answer, str(instance) if instance is not None else None)
        if value is MISSING:
            raise missing_in_output(expression, answer, self._scheduler.graph, self._journal)
        return exported(value)

    def _check_progress(self, script: Script, before: int) -> None:
        """End a run that goes round in circles: the same calls again, and nothing written since the first time (L4)."""
        calls = Counter(encode(call, sort_keys=True) for call in script.calls)
        if self._last is not None and self._last == (calls, self._journal.writes):
            errors = [failure.error for failure in self._scheduler.failures]
            last = f": {errors[-1].message}" if errors else ""
            what = "the same calls" if calls else "no calls and no output"
            raise NoProgress(f"the model answered {what} again and nothing was written in between{last}", errors=errors)
        self._last = (calls, before)

    def _refresh_tools(self) -> None:
        """Spell out the tools that a call has asked for (T12)."""
        if self._frame.toolset.hidden and self._journal.memory.read(Reference(REVEALED)) is not MISSING:
            self._frame = self._setup.frame(self._journal.context())
            self._scheduler.toolset = self._frame.toolset

    def _spend(self, usage: Usage) -> None:
        self._usage += usage

    def _tell_model(self) -> None:
        """Append the errors of the tick together, behind what its calls have written (L2)."""
        failures, self._scheduler.failures = self._scheduler.failures, []
        self._journal.fail((failure.call, failure.error) for failure in failures)
        self._errors += [failure.error for failure in failures]

    def _let_plans_stand(self) -> None:
        """Put a plan message where an answer began of which calls are still open (P2, L8)."""
        open_answers = {id(job.node.answer) for job in self._scheduler.open_jobs()}
        for script in reversed(self._scripts):
            is_open = id(script.answer) in open_answers or not script.is_concluded
            if is_open and script.calls and not script.stands:
                script.stands = True
                self._journal.insert(script.start, script.message())
        stay = [script for script in self._scripts if id(script.answer) in open_answers or script.stands]
        for script in self._scripts:
            if script not in stay and script.is_concluded:
                self._journal.answering(script.start, closed=True)
        self._scripts = stay
