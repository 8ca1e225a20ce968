"""The answers of a run, from where each begins until its output is delivered or nothing of it is open (M4, O9, P2)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from typing import Any

from ..dataflow.expression import TextBounds, template
from ..errors import ActumError, LimitExceeded, PlanFailed, PlanLeft, SolutionError, UnresolvedReference
from ..events import RepairStarted
from ..generation.ask import Judge
from ..generation.offer import Toolset
from ..protocol.approvals import is_decision
from ..protocol.call import EXPECT, Place
from ..protocol.marks import Marks, turn_starts
from ..protocol.message import OF, OUTCOME, is_skip
from ..protocol.readings import with_filters
from ..schema.json import Json, JsonObject, is_object
from .asking import Asking, Texts
from .calls.intake import Intake
from .calls.outcomes import Finished, GoOn, Outcome, Outcomes
from .ground import Ground
from .job import Failure
from .record.plans import standing_plans
from .record.recorder import Closed
from .script import Script, Wanted


class OpenAnswers:
    """Keeps the open answers of one run, and tells the model what they have come to."""

    def __init__(self, ground: Ground, arriving: Intake, calls: Outcomes, judge: Judge, next_number: int) -> None:
        self._ground = ground
        self._journal = ground.journal
        self._arriving = arriving
        self._calls = calls
        self._judge = judge
        self._runtime = ground.runtime
        self.next_number = next_number
        """The number of the next answer."""
        self.scripts: list[Script] = []
        """Those of which something is open, but for the one that is asked for."""
        self.turn: Asking | None = None
        """The one that is asked for, until its plan stands."""
        self._ended: list[int] = []
        """The numbers of those of which nothing is open any more, until the record says so."""
        self.output: Any = None
        """What the run has come to."""
        self.errors: list[ActumError] = []
        """What the model has been told of."""
        self._is_withheld = False
        """Whether the last answer had an output that was not delivered (O9)."""
        self._may_be_done = False
        """Whether a call beside it was carried out, or may have been, and has no result (C15)."""

    # Their outputs

    def find_delivered(self, marks: Marks) -> Finished | None:
        """The output that an earlier run has left as the last message: there is nothing else to do (M4).

        A decision behind it may be about a plan that still stands; where none does, it changes nothing.
        """
        messages = self._journal.messages
        at = len(messages) - 1
        if marks.plans and not marks.standing:
            while at >= 0 and is_decision(messages[at]):
                at -= 1
        last = messages[at] if at >= 0 else {}
        if last.get("type") != "output" or OF not in last or self._journal.has_next_turn:
            return None
        try:
            self.output = self._judge.finished(last["output"])
        except SolutionError:
            return None  # another schema asks another question
        self.tell_texts(last["output"])
        return Finished(self.output, None, "")

    def deliver(self, outcome: Finished) -> None:
        """Give the run its output, and leave it as the last message (M4)."""
        self.output = outcome.output
        if outcome.of:
            self.tell_texts(outcome.value, of=outcome.of)
            self.leave(outcome)

    def leave(self, outcome: Finished) -> None:
        """Leave an output as a message, so that whoever goes on from here knows that its plan is settled (M4)."""
        output = {"type": "output", "output": outcome.value, OF: outcome.of}
        self._journal.add(with_filters(output, outcome.filters) if outcome.filters else output)

    def tell_texts(self, output: Json, of: str = "") -> None:
        """Tell for good what has not been told so of the strings of the output that is delivered (O9)."""
        if self._ground.emit.sink:
            is_asked = self.turn is not None and str(self.turn.script.number) == of
            texts = self.turn.texts if self.turn is not None and is_asked else Texts(self._ground.emit)
            texts.deliver(output)

    def withhold(self, *scripts: Script) -> None:
        """Drop the outputs of answers beside which a call has failed; the model is told (O9)."""
        for script in scripts:
            if script.output is not None:
                self._is_withheld, script.output = True, None
                self._journal.withhold(script.number, script.start if script.is_planned else None)

    def notices(self) -> tuple[str, ...]:
        """What the model should know of its last answer; it is told once."""
        was_withheld, may_be_done = self._is_withheld, self._may_be_done
        self._is_withheld = self._may_be_done = False
        return (_WITHHELD.format(_LEAVE if may_be_done else _MAKE),) if was_withheld else ()

    def tell_failures(self) -> None:
        """Append the errors of the tick together, behind what its calls have written (L2)."""
        failures, self._ground.failures = self._ground.failures, []
        for failure in failures:
            message = failure.safe_message if self._runtime.config.sealed else None
            self._journal.fail(failure.error, failure.call, failure.of, message, failure.marks)
            self.errors.append(failure.error)
            self._may_be_done = self._may_be_done or failure.outcome in ("unusable", "unknown")
        for number in self._ended:  # only now: in an answer that is closed, no call is open that has failed
            if self._journal.is_recorded:
                self._journal.tell(Closed(number))
        self._ended.clear()

    # Their plans

    def stand(self, *, is_waiting: bool) -> None:
        """Put a plan message where an answer began of which calls are still open (P2, L8).

        Where what is left of the run waits for decisions, an output is one of the things that are open (L4).
        """
        if self.turn is not None:
            self.scripts.append(self.turn.script)
            self.turn = None
        are_open = self._calls.open_scripts()
        is_lazy = self._runtime.config.mode == "lazy"
        for script in reversed(self.scripts):  # from the last, so that the earlier ones' beginnings don't move
            is_kept = script.output is not None and not is_lazy  # it is delivered once others' calls are done (O9)
            is_open = script.number in are_open or not script.is_concluded or (is_kept and is_waiting)
            if is_open and not script.is_planned and (script.calls or script.kept or is_kept):
                script.is_planned = True
                self._journal.insert(script.start, script.message())
        stay = [script for script in self.scripts if script.number in are_open or script.is_planned]
        self._ended += [script.number for script in self.scripts if script.is_concluded and script not in stay]
        self.scripts = stay

    async def resume(self) -> Outcome:
        """Make the calls of the plans that stand in the context, and deliver their outputs in order (M4, P3)."""
        scripts = list(self._take_in_plans())
        if not scripts:
            return GoOn()
        self.scripts += scripts
        reading = TextBounds(allowance=self._ground.budget.allowance)
        outputs = [
            Wanted(output=template(script.output, reading), script=script, finished=self._judge.finished)
            for script in scripts
            if script.output is not None
        ]
        if not outputs:
            return await self._calls.settle()
        outcome: Outcome = GoOn()
        for wanted in outputs:
            if isinstance(outcome, Finished):
                self.leave(outcome)
            outcome = await self._calls.settle(wanted)
            if isinstance(outcome, GoOn):
                self._check_program(wanted.script, outcome.causes)
        return outcome

    def _take_in_plans(self) -> Iterator[Script]:
        """The plans that stand and have not been taken in, with their calls taken in.

        Raises:
            LimitExceeded: no call of a fresh one could start: delegates that fan out hold many, which aren't even read.
        """
        messages, budget = self._journal.messages, self._ground.budget
        marks, starts = Marks.of(messages), turn_starts(messages)
        if any(plan.calls for plan in marks.plans) and not any("_call" in message for message in messages):
            budget.check_calls()
        numbers = {script.number for script in self.scripts}
        reading, config = TextBounds(allowance=budget.allowance), self._runtime.config
        for plan in standing_plans(messages, self._journal.folding.memory, marks, self._journal.data_kinds, reading):
            number = plan.authored.number
            if "lazy" in (plan.mode, config.mode) or number in numbers:
                continue
            if config.repair is True and had_effects(number, marks, messages, self._ground.toolset):
                self._ground.effects.add(number)
            script = self._arriving.resume(plan)
            script.turn = bisect(starts, plan.authored.start)
            yield script

    def _check_program(self, script: Script, failures: Sequence[Failure]) -> None:
        """End the run where a plan that no model wrote has failed, unless a model may go on with it (P5).

        What a model owes has not failed; and what somebody has said since begins another turn.
        """
        if not (script.is_given and failures) or self._journal.has_next_turn:
            return
        if self._calls.open_calls()[1] and all(failure.call is None for failure in failures):
            return
        if limits := [failure.error for failure in failures if isinstance(failure.error, LimitExceeded)]:
            raise limits[0]
        error, repair = plan_failure(failures), self._runtime.config.repair
        may_repair = repair == "always" or (repair and script.number not in self._ground.effects)
        if self._runtime.model is None or not may_repair:
            raise error
        if self._ground.emit.sink:
            self._ground.emit(RepairStarted(answer=script.number, error=error))


_WITHHELD = "Your last `output` was not delivered: something failed. What has been done stays done: {}."
"""What a model is told together with the errors, so that it repeats neither what is done nor what is not true."""
_MAKE = "make what is missing, and answer the output again"
_LEAVE = "don't repeat what was, or may have been; answer the output again"


def plan_failure(failures: Sequence[Failure]) -> PlanFailed:
    """The error of a program whose output is withheld; its cause is the first failure in the order of places."""
    of_answer = (failure for failure in failures if failure.call is None and failure.job is None)
    first = next(of_answer, None) or min(failures, key=_rank)
    more = sum(not _is_consequence(failure) for failure in failures if failure is not first)
    rest = f"; and {more} more failed" if more else ""
    kind = PlanLeft if _is_expectation(first) else PlanFailed
    error = kind(
        f"the plan's output is withheld: {first.error.message}{rest}",
        data={"cause": first.error.to_dict(), "outcome": first.outcome},
    )
    error.__cause__, error.result = first.error, first.error.result
    return error


def _rank(failure: Failure) -> tuple[bool, bool, int, int]:
    place = Place.parse(failure.of)
    return _is_consequence(failure), _is_expectation(failure), place.answer, place.index or 0


def _is_consequence(failure: Failure) -> bool:
    """Whether a call was not made only because another has failed."""
    return isinstance(failure.error, UnresolvedReference) and failure.error.is_consequence


def _is_expectation(failure: Failure) -> bool:
    return failure.call is not None and EXPECT in failure.call


def had_effects(number: int, marks: Marks, messages: Sequence[JsonObject], toolset: Toolset) -> bool:
    """Whether a call of a plan whose tool may have effects had begun before this run."""
    places = [place for place in marks.left if place.answer == number]
    left = [messages[at] for place in places for at in marks.left[place]]
    return any(_had_effect(message, toolset) for message in left if not is_skip(message))


def _had_effect(message: JsonObject, toolset: Toolset) -> bool:
    call = message.get("_call") or message.get("call")
    if not is_object(call) or "_tool" not in call or message.get(OUTCOME) == "not made":
        return False
    tool = toolset.tools.get(str(call["_tool"]))
    return tool is None or not (tool.effects == "none" or toolset.is_latent(tool))
