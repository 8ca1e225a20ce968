"""`refine`: from kept runs to a plan, and its proof (R1, R20-R23)."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..app.agent import Agent
from ..app.idea import Idea
from ..app.loading import Code, ready
from ..app.recorded import RecordedTools, call_key, calls_on_record, with_record
from ..app.retracing import Unasked, is_alike
from ..dataflow.dollars import as_it_is
from ..errors import ActumError, PlanFailed, RefineError
from ..generation.offer import Toolset, offered
from ..ideas.layout import laid_out
from ..protocol.context import Context
from ..protocol.registry import AnyTools, Registry
from ..schema.infer import jsonable
from ..schema.json import Json, JsonObject, encode
from ..sources.files import path_given, write_text
from .deriving import Author, Derivation, Explanation, agreements
from .examples import Example, example_of

_LEAST, _LEAST_WITH_EFFECTS, _MOST = 3, 5, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A value that only a person can settle: `leaf` is its place, `3.days`, and `value` what it is in all examples."""

    leaf: str
    value: Json
    why: str


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

    @property
    def holds(self) -> bool:
        """Whether every example comes out as it did, and none that was held out comes out otherwise."""
        return self.same == self.examples and not self.wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """What runs were refined to: the `plan` message, where each value of it comes from, and the proof.

    `questions` are open: nothing is saved before a person has settled them. `left_out` says why runs were not examples.
    `requests` is how many an example took on average.
    """

    idea: Idea
    plan: JsonObject
    notes: Sequence[Explanation]
    questions: Sequence[OpenQuestion] = ()
    proof: Proof = field(default_factory=Proof)
    examples: Sequence[str] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    requests: float = 0.0
    effects: Sequence[str] = ()
    """The tools of the plan that don't only read."""

    @property
    def hash(self) -> str:
        """The SHA-256 of its plan, by which a person approves it."""
        return f"sha256:{hashlib.sha256(encode(self.plan, sort_keys=True).encode()).hexdigest()}"

    def save(self, path: str | Path) -> None:
        """Write the Idea with its plan, and under `$refined` where each value comes from.

        Raises:
            RefineError: a question is open, or the plan isn't proved.
            IdeaError: the file can't be written.
        """
        if self.questions:
            leaves = ", ".join(one.leaf for one in self.questions)
            raise RefineError(f"nothing is saved before a person has settled {leaves}", code="unconfirmed")
        if not self.proof.holds or not self.proof.examples:
            raise RefineError(f"the plan isn't proved: {self.proof.why}", code="not_proved")
        notes = {one.leaf: f"{one.text}: {one.why}" for one in self.notes}
        about: JsonObject = {"hash": self.hash, "examples": len(self.examples), "notes": notes}
        own = self.idea.text
        whole = replace(own, context=[*own.context, self.plan], solution=None).to_dict()
        write_text(path_given(path), laid_out({**whole, "$refined": about}))


async def refine(
    runs: Sequence[str | Path | Idea],
    *,
    idea: str | Path | Idea,
    tools: AnyTools | None = None,
    confirm: Mapping[str, str] | Sequence[str] = (),
) -> Refined:
    """Derive a plan from kept runs of an Idea, and prove it by replaying them; no model is asked, and no tool called.

    Args:
        runs: kept runs, as files or Ideas. Those of another shape than most are left out, and named.
        idea: the Idea that they are runs of.
        tools: what its tools are registered in; what its modules register where none are given.
        confirm: leaves whose constant a person has settled, `3.days`, each perhaps with a reference to take instead.

    Raises:
        RefineError: nothing could be derived; its code says why.
        IdeaError: a file can't be read.
    """
    own = idea if isinstance(idea, Idea) else Idea.load(idea)
    agent, toolset = _prepared(own, str(idea), tools)
    confirmed = dict(confirm) if isinstance(confirm, Mapping) else dict.fromkeys(confirm, "")
    examples, left_out = _examples(runs, toolset)
    author = Author.of(own.context.messages, toolset.tools)
    effects = sorted({step.tool for step in examples[0].steps if not step.reads})
    least = _LEAST_WITH_EFFECTS if effects else _LEAST
    if len(examples) < least:
        told = f"{len(examples)} examples of one shape: at least {least} are needed"
        raise RefineError(f"{told}{' where anything has effects' if effects else ''}", code="too_few")
    found = _derived(own, examples, author, confirmed)
    proof = Proof()
    if not any(one.how == "hole" for one in found.notes):
        proof = await _proved(found, examples, author, confirmed, agent, toolset)
    requests = [len(one.run.meta["run"].get("ticks", [])) for one in examples]
    return replace(
        found,
        proof=proof,
        examples=[one.name for one in examples],
        left_out=left_out,
        effects=effects,
        requests=sum(requests) / len(requests),
    )


def _prepared(idea: Idea, name: str, tools: AnyTools | None) -> tuple[Agent, Toolset]:
    """An agent without a model, and the tools of the Idea."""
    loaded = ready(idea, name, model=Unasked(None), code=Code.to_run())
    agent = loaded.agent()
    agent.model = None
    if tools is not None:
        agent.tools = type(agent.tools).of(tools)
    registry: Registry = agent.tools
    return agent, offered(loaded.context, registry, loaded.config.tools)


def _examples(runs: Sequence[str | Path | Idea], toolset: Toolset) -> tuple[list[Example], dict[str, str]]:
    """The runs of the most frequent shape, and why each other one is left out."""
    found: list[Example] = []
    left_out: dict[str, str] = {}
    for number, one in enumerate(runs[:_MOST], 1):
        run = one if isinstance(one, Idea) else Idea.load(one)
        name = f"run {number}" if isinstance(one, Idea) else str(one)
        try:
            found.append(example_of(run, name, toolset.reading))
        except RefineError as error:
            left_out[name] = error.code
    if not found:
        raise RefineError("none of the runs is an example", code="too_few")
    shape, _ = Counter(example.shape for example in found).most_common(1)[0]
    left_out |= {example.name: "other_shape" for example in found if example.shape != shape}
    return [example for example in found if example.shape == shape], left_out


def _derived(idea: Idea, examples: Sequence[Example], author: Author, confirmed: Mapping[str, str]) -> Refined:
    """The plan of examples of one shape: reads and what is expected first, then effects (R23)."""
    derivation = Derivation(examples, author, confirmed)
    calls: list[JsonObject] = []
    steps = [derivation.step(index) for index in range(len(examples[0].steps))]
    output = derivation.output()
    first_effect = next((index for index, step in enumerate(examples[0].steps) if not step.reads), None)
    order: dict[int, int] = {}
    for index, (step, parameters) in enumerate(zip(examples[0].steps, steps, strict=True)):
        if index == first_effect:
            calls += [*agreements(derivation.found, None), {"_then": True}]
        order[index] = len(calls) + sum(1 for _ in agreements(derivation.found, index))
        calls += [*agreements(derivation.found, index), {"_tool": step.tool, **parameters}]
        if not step.reads and index + 1 < len(steps):
            calls.append({"_then": True})
    if first_effect is None:
        calls += agreements(derivation.found, None)
    plan: JsonObject = {
        "type": "plan",
        "plan": [_placed(call, order) for call in calls],
        "output": _placed(output, order),
    }
    questions = [
        OpenQuestion(leaf=one.leaf, value=one.text, why=one.why)
        for one in derivation.found
        if one.how in {"question", "hole"}
    ]
    return Refined(idea=idea, plan=as_it_is(plan), notes=derivation.found, questions=questions)


def _placed(value: Any, order: Mapping[int, int]) -> Any:
    """A value whose references name steps, with these named by their places in the plan."""
    if isinstance(value, dict):
        return {key: _placed(one, order) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType] -- JSON
    if isinstance(value, list):
        return [_placed(one, order) for one in value]  # pyright: ignore[reportUnknownVariableType] -- as above
    if not isinstance(value, str):
        return value
    return re.sub(r"(?<!†)†calls\.(\d+)", lambda match: f"†calls.{order[int(match[1])]}", value)


async def _proved(
    found: Refined,
    examples: Sequence[Example],
    author: Author,
    confirmed: Mapping[str, str],
    agent: Agent,
    toolset: Toolset,
) -> Proof:
    """Each example replayed by the plan, and by the plan of all others (R20, R21)."""
    same, why = 0, ""
    for example in examples:
        problem = await _replayed(found, example, agent, toolset)
        same, why = same + (problem is None), why or problem or ""
    right = left = wrong = 0
    for example in examples:
        others = [one for one in examples if one is not example]
        try:
            plan = _derived(found.idea, others, author, {**dict.fromkeys(_asked(found), ""), **confirmed})
            problem = await _replayed(plan, example, agent, toolset)
        except RefineError:
            problem = "left"
        right, left = right + (problem is None), left + (problem == "left")
        if problem is not None and problem != "left":
            wrong, why = wrong + 1, why or f"held out, {problem}"
    return Proof(examples=len(examples), same=same, right=right, left=left, wrong=wrong, why=why)


def _asked(found: Refined) -> list[str]:
    return [one.leaf for one in found.questions]


async def _replayed(plan: Refined, example: Example, agent: Agent, toolset: Toolset) -> str | None:
    """Why a plan doesn't do what an example did, None where it does; "left" where it knows that it doesn't."""
    tools = RecordedTools(calls_on_record(example.run, example.name, toolset.reading))
    given = [message for message in example.given if message.get("type") != "plan"]
    origin = plan.idea.context.origin
    context = Context([*given, plan.plan], origin=origin)
    try:
        result = await tools.until_missed(with_record(agent, tools).run(context, plan.idea.schema))
    except PlanFailed:
        return "left"
    except ActumError as error:
        return f"{example.name}: {error.message}"
    if result is None:
        return f"{example.name}: {tools.missed}"
    output = jsonable(result.output)
    if not is_alike(output, example.output):
        return f"{example.name}: it comes to {encode(output)[:200]}, not to {encode(example.output)[:200]}"
    wanted = Counter(call_key(step.tool, step.arguments) for step in example.steps)
    asked = Counter(tools.answered)
    if wanted - asked:
        return f"{example.name}: {next(iter(wanted - asked))} isn't called"
    return None
