"""The proof of a plan: replays on its examples, on changed ones, and of plans made without one of them (R20, R21)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Final

from ..app.agent import Agent
from ..app.idea import Idea
from ..app.recorded import RecordedTools, UnrecordedCalls, call_key, with_record
from ..app.retracing import is_alike
from ..errors import ActumError, PlanFailed, RefineError
from ..generation.model import Model
from ..generation.offer import Toolset
from ..protocol.context import Context
from ..schema.infer import jsonable
from ..schema.json import JsonObject, encode
from .author import Author
from .deriving import Derivation, DerivedPlan, Settled
from .examples import Example
from .perturbing import references_in, with_another
from .sameness import as_same
from .shapes import ExampleShape

_LEFT: Final = "left"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What replaying the plan on each example came to: how many are the same, and of the held-out ones how many were
    right, left the plan, or came out otherwise."""

    examples: int = 0
    same: int = 0
    right: int = 0
    left: int = 0
    wrong: int = 0
    why: str = ""
    by_run: Mapping[str, str] = field(default_factory=dict[str, str])
    """What each example came to when the plan was derived without it: right, left or wrong."""
    fixed: Sequence[str] = ()
    """The references behind which another value changed nothing."""
    asked: int = 0
    """How many held-out ones a model was asked for what no term gives, of which so many `agreed`."""
    agreed: int = 0

    @property
    def holds(self) -> bool:
        """Whether every example comes out as it did, and none that was held out comes out otherwise."""
        return self.same == self.examples and not self.wrong and not self.fixed and self.agreed == self.asked


async def proved(
    derived: DerivedPlan,
    shape: ExampleShape,
    author: Author,
    settled: Settled,
    replays: Replays,
    of_other_shapes: Sequence[Example],
) -> Proof:
    """Each example replayed by the plan, and by that of all others (R20, R21), whose holes a model fills (R18).

    The plan was derived without those of other shapes: it is left there, or does the same, or is wrong.
    """
    whole = Derivation(shape, author)
    examples = derived.read_in(shape, whole)
    problems = await replays.problems(derived.plan, examples)
    proof = await replays.proof(derived.plan, examples, problems)
    questions = {note.leaf: "" for note in derived.notes if note.how == "question"}
    assumed = replace(settled, confirmed={**questions, **settled.confirmed})
    by_run, whys, answered = dict[str, str | None](), [proof.why], list[bool]()
    for number, example in enumerate(shape.examples):
        try:
            others = shape.of([other for other in range(len(shape.examples)) if other != number])
            plan = Derivation(others, author, assumed).plan()
            if plan.is_open:
                problem = _LEFT
            elif encode(plan.plan) == encode(derived.plan) and plan.readings == derived.readings:
                problem = problems[number]  # the same plan does the same
            else:
                problem = await replays.problem(plan.plan, plan.read_in(shape, whole)[number])
            if problem is None and plan.is_judged:
                whys.append(await replays.asking(plan.plan, example) or "")
                answered.append(not whys[-1])
        except RefineError:
            problem = _LEFT
        by_run[example.name] = problem
    for example in of_other_shapes:
        by_run[example.name] = await replays.problem(derived.plan, example, is_of_shape=False)
    whys += [f"held out, {problem}" for problem in by_run.values() if problem not in {None, _LEFT}]
    outcomes = {
        name: "right" if problem is None else "left" if problem == _LEFT else "wrong"
        for name, problem in by_run.items()
    }
    counts = Counter(outcomes.values())
    return replace(
        proof,
        **{outcome: counts[outcome] for outcome in ("right", "left", "wrong")},
        why=next(filter(None, whys), ""),
        by_run=outcomes,
        asked=len(answered),
        agreed=sum(answered),
    )


@dataclass(frozen=True, slots=True)
class Replays:
    """Runs plans on the records of examples, without a model and without a call."""

    agent: Agent
    toolset: Toolset
    idea: Idea
    same: Mapping[str, str]
    """How leaves of the output are compared."""
    model: Model | None = None
    """It is asked for what no term gives, and for the calls of the `simulated` tools."""
    simulated: Collection[str] = ()

    async def problems(self, plan: JsonObject, examples: Sequence[Example]) -> list[str | None]:
        """What `problem` says of each example."""
        return [await self.problem(plan, example) for example in examples]

    async def proof(self, plan: JsonObject, examples: Sequence[Example], problems: Sequence[str | None]) -> Proof:
        """What a plan came to on the examples, and comes to with another value behind each of its references."""
        pairs = zip(examples, problems, strict=True)
        whys = [f"{example.name} leaves it" if problem == _LEFT else problem for example, problem in pairs]
        why = next(filter(None, whys), "")
        fixed = [] if why else [text async for text in self._fixed(plan, examples)]
        why = f"another value behind {fixed[0]} changes nothing" if fixed else why
        return Proof(examples=len(examples), same=problems.count(None), why=why, fixed=fixed)

    async def _fixed(self, plan: JsonObject, examples: Sequence[Example]) -> AsyncIterator[str]:
        """The references behind which another value changes nothing in any example."""
        strict = replace(self, same={})
        for text, tool, path in references_in(plan):
            for example in examples:
                if await strict.problem(plan, with_another(example, tool, path)) is not None:
                    break
            else:
                yield text

    async def asking(self, plan: JsonObject, example: Example) -> str | None:
        """The same as `problem`, where the model is asked for what it said itself in the example."""
        latent = {step.tool for step in example.steps if step.is_latent}
        asking = replace(self, agent=copy(self.agent), simulated=latent)
        asking.agent.model = self.model
        record = [call for call in example.record if call.tool not in latent]
        problem = await asking.problem(plan, replace(example, record=record))
        return f"{example.name}: asked anew, it leaves the plan" if problem == _LEFT else problem

    async def problem(self, plan: JsonObject, example: Example, *, is_of_shape: bool = True) -> str | None:
        """Why a plan doesn't do what an example did, None where it does; `left` where it knows that it doesn't.

        One of another shape may have read other things: only its effects and its output count, and where the plan reads
        what this run hasn't, nobody knows, as where it is left.
        """
        is_asked = self.agent.model is not None
        effects = self.toolset.tools.keys() - self.toolset.reading - self.toolset.latent
        tools = RecordedTools(example.record, fallback=UnrecordedCalls(simulated=self.simulated), asks_reader=is_asked)
        context = Context([*example.given, plan], origin=self.idea.context.origin)
        try:
            result = await tools.until_missed(with_record(self.agent, tools).run(context, self.idea.schema))
        except PlanFailed:
            return _LEFT
        except ActumError as error:
            return f"{example.name}: {error.message}"
        if result is None:
            is_unknown = not is_of_shape and tools.missed is not None and tools.missed.tool not in effects
            return _LEFT if is_unknown else f"{example.name}: {tools.missed}"
        output = jsonable(result.output)
        if not is_alike(*as_same(output, example.output, self.same)):
            return f"{example.name}: it comes to {encode(output)[:200]}, not to {encode(example.output)[:200]}"
        steps = (
            step for step in example.steps if step.tool not in self.simulated and (is_of_shape or step.tool in effects)
        )
        missing = Counter(call_key(step.tool, step.arguments) for step in steps) - Counter(tools.answered)
        return f"{example.name}: {next(iter(missing))} isn't called" if missing else None
