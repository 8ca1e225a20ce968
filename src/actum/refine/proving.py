"""The proof of a plan: it is replayed on its examples, and, derived without one of them, on that one (R20, R21)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..app.agent import Agent
from ..app.idea import Idea
from ..app.recorded import RecordedCall, RecordedTools, call_key, calls_on_record, with_record
from ..app.retracing import is_alike
from ..errors import ActumError, PlanFailed, RefineError
from ..generation.offer import Toolset
from ..protocol.context import Context
from ..schema.infer import jsonable
from ..schema.json import JsonObject, encode
from .author import Author
from .deriving import Derivation, DerivedPlan
from .examples import Example
from .sameness import as_same
from .shapes import ExampleShape


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

    @property
    def holds(self) -> bool:
        """Whether every example comes out as it did, and none that was held out comes out otherwise."""
        return self.same == self.examples and not self.wrong


@dataclass(frozen=True, slots=True)
class Settled:
    """What a person has settled: constants and references by their leaves, and what he looks over."""

    confirmed: Mapping[str, str]
    ignored: Collection[str] = ()

    def derived(self, shape: ExampleShape, author: Author, others: Sequence[Example] = ()) -> DerivedPlan:
        """The plan of a shape, beside examples of other ones."""
        return Derivation(shape, author, self.confirmed, self.ignored, others).plan()


async def proved(found: DerivedPlan, shape: ExampleShape, author: Author, settled: Settled, replays: Replays) -> Proof:
    """Each example replayed by the plan, and by the plan of all others (R20, R21)."""
    same, why = 0, ""
    known = Derivation(shape, author)
    for number, example in enumerate(shape.examples):
        problem = await replays.problem(found.plan, example, found.read_in(shape, number, known))
        same, why = same + (problem is None), why or problem or ""
    asked = {one.leaf: "" for one in found.found if one.how == "question"}
    assumed = Settled({**asked, **settled.confirmed}, settled.ignored)
    by_run: dict[str, str] = {}
    for number, example in enumerate(shape.examples):
        try:
            plan = assumed.derived(shape.of([one for one in range(len(shape.examples)) if one != number]), author)
            read = plan.read_in(shape, number, known)
            problem = "left" if plan.is_open else await replays.problem(plan.plan, example, read)
        except RefineError:
            problem = "left"
        by_run[example.name] = "right" if problem is None else "left" if problem == "left" else "wrong"
        if by_run[example.name] == "wrong":
            why = why or f"held out, {problem}"
    told = Counter(by_run.values())
    return Proof(
        examples=len(shape.examples),
        same=same,
        right=told["right"],
        left=told["left"],
        wrong=told["wrong"],
        why=why,
        by_run=by_run,
    )


@dataclass(frozen=True, slots=True)
class Replays:
    """Runs plans on the records of examples, without a model and without a call."""

    agent: Agent
    toolset: Toolset
    idea: Idea
    same: Mapping[str, str]
    """How leaves of the output are compared."""

    async def problem(self, plan: JsonObject, example: Example, read: Sequence[RecordedCall] = ()) -> str | None:
        """Why a plan doesn't do what an example did, None where it does; "left" where it knows that it doesn't.

        `read` is what a reader would have answered it.
        """
        tools = RecordedTools([*calls_on_record(example.run, example.name, self.toolset.reading), *read])
        context = Context([*example.given, plan], origin=self.idea.context.origin)
        try:
            result = await tools.until_missed(with_record(self.agent, tools).run(context, self.idea.schema))
        except PlanFailed:
            return "left"
        except ActumError as error:
            return f"{example.name}: {error.message}"
        if result is None:
            return f"{example.name}: {tools.missed}"
        output = jsonable(result.output)
        if not is_alike(*as_same(output, example.output, self.same)):
            return f"{example.name}: it comes to {encode(output)[:200]}, not to {encode(example.output)[:200]}"
        wanted = Counter(call_key(step.tool, step.arguments) for step in example.steps)
        missing = wanted - Counter(tools.answered)
        return f"{example.name}: {next(iter(missing))} isn't called" if missing else None
