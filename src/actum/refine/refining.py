"""`refine`: from kept runs to a plan, and its proof (R1, R20-R23)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..app.agent import Agent
from ..app.idea import Idea
from ..app.loading import Code, ready
from ..app.retracing import Unasked, requests_again
from ..errors import IdeaError, RefineError
from ..generation.model import Model
from ..generation.offer import Toolset, offered
from ..ideas.layout import laid_out
from ..ideas.ticks import RUN, TOOLS
from ..protocol.registry import AnyTools, Registry
from ..schema.json import Json, JsonObject, encode
from ..schema.quoting import instead
from ..sources.files import path_given, write_text
from .author import Author, texts_in
from .deriving import Derivation, DerivedPlan, Settled
from .examples import Example, example_of
from .explanation import Explanation
from .plan_tools import asking, digests_of, effects_of
from .proving import Proof, Replays, proved
from .shapes import ExampleShape, shapes_of

LEAST, LEAST_WITH_EFFECTS, LEAST_FILLED, MOST = 3, 5, 10, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A value that only a person can settle: `leaf` is its place, `3.days`, and `value` what it is in all examples."""

    leaf: str
    value: Json
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """What runs were refined to: the `plan` message, where each of its values comes from, and the proof.

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
    asks: int = 0
    """How many requests the plan makes: of the reader, for what nothing else explains."""
    effects: Sequence[str] = ()
    """The tools of the plan that don't only read."""
    shapes: Mapping[str, int] = field(default_factory=dict[str, int])
    """The calls that runs have made, as `find → remind`, and how many runs made these."""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """The digests of the tools that the plan calls."""
    made_of: Sequence[Example] = ()
    """The examples, with what a reader would have answered the plan."""

    @property
    def hash(self) -> str:
        """The SHA-256 of its plan and of the digests of its tools, by which a person approves it."""
        identity = encode([self.plan, dict(self.tools)], sort_keys=True)
        return f"sha256:{hashlib.sha256(identity.encode()).hexdigest()}"

    @property
    def text(self) -> str:
        """The Idea with its plan as its file has it, and under `$refined` where each value comes from.

        Raises:
            RefineError: a question is open, or the plan isn't proved.
        """
        if self.questions:
            leaves = ", ".join(question.leaf for question in self.questions)
            raise RefineError(f"nothing is saved before a person has settled {leaves}", code="unconfirmed")
        if not self.proof.holds or not self.proof.examples:
            raise RefineError(f"the plan isn't proved: {self.proof.why}", code="not_proved")
        notes = {note.leaf: f"{note.text}: {note.why}" for note in self.notes}
        about: JsonObject = {"hash": self.hash, "examples": len(self.examples), "notes": notes}
        text = self.idea.text
        whole = replace(text, context=[*text.context, self.plan], solution=None).to_dict()
        return laid_out({**whole, "$refined": about})

    def save(self, path: str | Path) -> None:
        """Write the Idea with its plan.

        Raises:
            RefineError: a question is open, or the plan isn't proved.
            IdeaError: the file can't be written.
        """
        write_text(path_given(path), self.text)


async def refine(
    runs: Sequence[str | Path | Idea],
    *,
    idea: str | Path | Idea,
    tools: AnyTools | None = None,
    confirm: Mapping[str, str] | Sequence[str] = (),
    ignore: Sequence[str] = (),
    same: Mapping[str, str] | None = None,
    pinned: bool = False,
    fill: str | Model | None = None,
) -> Refined:
    """Derive a plan from kept runs of an Idea, and prove it by replaying them; no tool is called, and no model is asked
    but the one that fills it.

    Args:
        runs: kept runs, as files or Ideas. Those of another shape than most are left out, and named.
        idea: the Idea that they are runs of.
        tools: what its tools are registered in; what its modules register where none are given.
        confirm: leaves whose constant a person has settled, `3.days`, each perhaps with a reference to take instead;
            of what a call returned, `calls.0.status`, the plan then expects it.
        ignore: leaves of what calls returned, which the plan doesn't look at although they were the same in all runs.
        same: how a leaf of the output is compared, `{"output.ids": "set"}`: as a `set`, up to `number:1e-9`, or `any`.
        pinned: whether what the Idea's modules register is read from their pins, and no module is imported.
        fill: the model that the plan may ask for what nothing explains: a call that the model itself carried out, one
            of several declared values, a truth, or prose of the output. It is asked for each example that is held out,
            ten at least, and has to agree in all.

    Raises:
        RefineError: nothing could be derived; its code says why.
        IdeaError: a file can't be read, or the plan has no such leaf.
    """
    base, agent, toolset = prepared_for(idea, tools, pinned=pinned)
    confirmed = dict(confirm) if isinstance(confirm, Mapping) else dict.fromkeys(confirm, "")
    settled = Settled(confirmed, frozenset(ignore), fill is not None)
    examples, left_out = await examples_among(runs, toolset, agent, base)
    author = Author.of(base.context.messages, toolset.tools, base.schema)
    shape, derived, why = _derived(examples, author, settled)
    _check_named((*settled.confirmed, *settled.ignored, *(same or ())), derived, shape)
    others = [example for example in examples if example not in shape.examples]
    left_out |= {example.name: why for example in others}
    proof, made_of = Proof(), derived.read_in(shape, Derivation(shape, author))
    if derived.is_judged and len(shape.examples) < LEAST_FILLED:
        problem = f"{len(shape.examples)} examples: a model is asked for {LEAST_FILLED} at least"
        raise RefineError(problem, code="too_few")
    if not any(note.how == "hole" for note in derived.notes):
        replays = Replays(agent, toolset, base, same or {}, Agent(fill).model)
        proof = await proved(derived, shape, author, settled, replays, others)
    unsettled = [note for note in derived.notes if note.how in {"question", "hole"}]
    return replace(
        _refined(base, derived.plan, toolset, made_of, proof, left_out),
        notes=derived.notes,
        questions=[OpenQuestion(leaf=note.leaf, value=note.text, why=note.why) for note in unsettled],
        shapes=Counter(" → ".join(step.tool for step in example.steps) or "no calls" for example in examples),
    )


async def prove(
    plan: str | Path | Idea,
    runs: Sequence[str | Path | Idea],
    *,
    tools: AnyTools | None = None,
    same: Mapping[str, str] | None = None,
) -> Refined:
    """Prove a plan that a person has edited, by replaying kept runs with it; its hash is another one then.

    Args:
        plan: the Idea with its plan.
        runs: kept runs of the Idea, without the plan.
        tools: as for `refine`, and so is `same`.

    Raises:
        RefineError: the Idea has no plan, or a run isn't an example; its code says why.
        IdeaError: a file can't be read.
    """
    idea, agent, toolset = prepared_for(plan, tools)
    plans = [message for message in idea.context.messages if message.get("type") == "plan"]
    if not plans or plans[-1].get("output") is None:
        raise RefineError(f"{plan} has no plan with an output", code="not_proved")
    examples, left_out = await examples_among(runs, toolset, agent, idea)
    replays = Replays(agent, toolset, idea, same or {})
    proof = await replays.proof(plans[-1], examples, await replays.problems(plans[-1], examples))
    begins = [message for message in idea.context.messages if message is not plans[-1]]
    idea = replace(idea, context=idea.context.with_messages(begins))
    return _refined(idea, plans[-1], toolset, examples, proof, left_out)


def _refined(
    idea: Idea,
    plan: JsonObject,
    toolset: Toolset,
    examples: Sequence[Example],
    proof: Proof,
    left_out: Mapping[str, str],
) -> Refined:
    requests = [len(example.run.meta[RUN].get("ticks", [])) for example in examples]
    return Refined(
        idea=idea,
        plan=plan,
        notes=(),
        proof=proof,
        examples=[example.name for example in examples],
        left_out=left_out,
        effects=list(effects_of(plan, toolset)),
        asks=asking(plan),
        tools=digests_of(plan, toolset),
        requests=sum(requests) / len(requests),
        made_of=examples,
    )


def _check_named(leaves: Iterable[str], plan: DerivedPlan, shape: ExampleShape) -> None:
    """Refuse to settle leaves that the plan doesn't have."""
    places = [note.leaf for note in plan.notes]
    places += [f"calls.{number}" for number in range(len(shape.slots))]
    for leaf in leaves:
        if not any(_is_within(leaf, place) or _is_within(place, leaf) for place in places):
            raise IdeaError(f"the plan has no {leaf!r}; {instead(leaf, places)}")


def _is_within(leaf: str, place: str) -> bool:
    return leaf == place or leaf.startswith((f"{place}.", f"{place}["))


def prepared_for(
    idea: str | Path | Idea, tools: AnyTools | None, *, pinned: bool = False
) -> tuple[Idea, Agent, Toolset]:
    """The Idea, an agent without a model, and the tools of the Idea.

    Raises:
        IdeaError: the file can't be read.
    """
    base = idea if isinstance(idea, Idea) else Idea.load(idea)
    code = Code.to_read() if pinned else Code.to_run()
    loaded = ready(base, str(idea), model=Unasked(None), code=code)
    agent = loaded.agent()
    agent.model = None
    if tools is not None:
        agent.tools = type(agent.tools).of(tools)
    registry: Registry = agent.tools
    return base, agent, offered(loaded.context, registry, loaded.config.tools)


async def examples_among(
    runs: Sequence[str | Path | Idea], toolset: Toolset, agent: Agent, idea: Idea
) -> tuple[list[Example], dict[str, str]]:
    """The runs that can be examples, in an order that is always the same for them, and why others are left out.

    The first 50 that can be are taken (R3).
    """
    examples: list[Example] = []
    left_out: dict[str, str] = {}
    for number, source in enumerate(runs, 1):
        name = name_of(source, number)
        if len(examples) == MOST:
            left_out[name] = "too_large"
            continue
        run = source if isinstance(source, Idea) else Idea.load(source)
        try:
            example = example_of(run, name, toolset)
            if not set(texts_in(idea.context.messages)) <= set(texts_in(example.given)):
                raise RefineError(f"{name}: it was asked in other words than the Idea's", code="given_differs")
            if TOOLS not in run.meta[RUN] and not await requests_again(agent, run, name):
                raise RefineError(f"{name}: it was made with other tools than these", code="stale")
            examples.append(example)
        except RefineError as error:
            left_out[name] = error.code
    texts = {example.name: tuple(texts_in(example.given)) for example in examples}
    most = Counter(texts.values()).most_common(1)
    left_out |= {name: "given_differs" for name in texts if texts[name] != most[0][0]}
    examples = [example for example in examples if example.name not in left_out]
    if not examples:
        counts = ", ".join(f"{code}: {count}" for code, count in Counter(left_out.values()).items())
        hint = "; what varies in what was asked has to be input" if "given_differs" in left_out.values() else ""
        raise RefineError(f"none of the runs is an example ({counts}){hint}", code="too_few")
    return sorted(examples, key=_as_text), left_out


def name_of(run: str | Path | Idea, number: int) -> str:
    """What a run is called in reports: its file, or its number."""
    return f"run {number}" if isinstance(run, Idea) else str(run)


def _as_text(example: Example) -> str:
    steps = [[step.tool, step.arguments, step.value] for step in example.steps]
    return encode([example.input, steps, example.output], sort_keys=True)


def _least(shape: ExampleShape) -> int:
    return LEAST_WITH_EFFECTS if shape.effects else LEAST


def _derived(examples: Sequence[Example], author: Author, settled: Settled) -> tuple[ExampleShape, DerivedPlan, str]:
    """The plan of as many examples as can be, and why the others are left out."""
    why: RefineError | None = None
    shapes = list(shapes_of(examples))
    for shape in shapes[:-1]:
        if len(shape.examples) >= _least(shape):
            try:
                plan = Derivation(shape, author, settled).plan()
            except RefineError as error:
                why = error
                continue
            if not any(note.how == "hole" for note in plan.notes):
                return shape, plan, "other_shape"
    shape = shapes[-1]
    if len(shape.examples) < _least(shape):
        problem = f"{len(shape.examples)} examples of one shape: at least {_least(shape)} are needed"
        problem += " where anything has effects" if shape.effects else ""
        raise RefineError(
            problem if why is None else f"{why.message}; {problem}", code="too_few" if why is None else why.code
        )
    rest = [example for example in examples if example not in shape.examples]
    return shape, Derivation(shape, author, settled, rest).plan(), "other_shape" if why is None else why.code
