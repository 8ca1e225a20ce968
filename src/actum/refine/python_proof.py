"""A written function proved as a plan is: by what it does on the records of the examples (R20, R37)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from typing import Any

from ..app.idea import Idea
from ..app.recorded import call_key
from ..app.retracing import is_alike
from ..app.tools import DEFAULT
from ..errors import ActumError, RefineError
from ..execution.ground import CARRYING, Within
from ..protocol.reader import READ
from ..protocol.registry import AnyTools
from ..schema.infer import jsonable
from ..schema.json import Json, encode
from ..sources.files import path_given, write_text
from .author import Author
from .examples import Example
from .python_expressions import not_python
from .python_source import PythonFunction, proving_module
from .python_types import is_python_name
from .refining import Proof, Refined, examples_among, prepared_for
from .sameness import as_same


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCode:
    """A plan as a Python module with a typed function, which was proved.

    `tests` is a module that proves it again, empty where the Idea or a run of it isn't a file, and where a model reads
    a text: what it reads there is on no record.
    """

    path: Path
    function: str
    tests: str

    def save(self) -> Path:
        """Write both, the tests beside the function; where these are.

        Raises:
            IdeaError: a file can't be written.
        """
        beside = self.path.with_name(f"test_{self.path.name}")
        write_text(self.path, self.function)
        if self.tests:
            write_text(beside, self.tests)
        return beside


async def as_python(
    found: Refined,
    runs: Sequence[str | Path | Idea],
    path: str | Path,
    *,
    idea: str | Path | Idea,
    tools: AnyTools | None = None,
    same: Mapping[str, str] | None = None,
    pinned: bool = False,
) -> PythonCode:
    """Write a proved plan as a typed function of the name of its file, and prove that by the same runs.

    Args:
        found: the plan.
        runs: the kept runs that it was derived from or proved by.
        path: the file, `desk.py`; nothing is written yet.
        idea: the Idea that they are runs of.
        tools: as for `refine`, and so are `same` and `pinned`.

    Raises:
        RefineError: the plan is open or not proved, or can't be written as Python, or the function does something else.
    """
    own, _, toolset = prepared_for(idea, tools, pinned=pinned)
    target = path_given(path)
    if found.questions or not found.proof.holds or not found.proof.examples:
        raise RefineError(f"only a proved plan is written as Python: {found.proof.why}", code="not_proved")
    if target.suffix != ".py" or not is_python_name(target.stem):
        raise not_python(f"a function of the name {target.name!r}")
    author = Author.of(own.context.messages, toolset.tools, own.schema)
    named = "an Idea" if isinstance(idea, Idea) else Path(idea).name
    about = f"{target.stem}, written from {len(found.made_of)} recorded runs of {named}."
    source = PythonFunction(target.stem, found.plan, author, toolset, found.made_of, about).source()
    proof = await _proof(_loaded(source, target.stem), found.made_of, same or {})
    if not proof.holds:
        raise RefineError(f"the function does something else: {proof.why}", code="not_python")
    are_files = not found.asks and not any(isinstance(one, Idea) for one in (idea, *runs))
    tests = proving_module(target.stem, target, str(idea), found.examples) if are_files else ""
    return PythonCode(path=target, function=source, tests=tests)


async def prove_function(
    function: Callable[..., Any],
    runs: Sequence[str | Path | Idea],
    *,
    idea: str | Path | Idea,
    tools: AnyTools | None = None,
    same: Mapping[str, str] | None = None,
) -> Proof:
    """Call a function with the input of each kept run: its own calls have to be those of the run, whose results it is
    given, and so has its output. Nothing is carried out.

    Args:
        function: what takes the values of the input by their names, and calls tools as `await tools({…})`.
        runs: kept runs of the Idea.
        idea: the Idea that they are runs of.
        tools: as for `refine`, and so is `same`.

    Raises:
        RefineError: none of the runs is an example.
        IdeaError: a file can't be read.
    """
    own, agent, toolset = prepared_for(idea, tools)
    return await _proof(function, (await examples_among(runs, toolset, agent, own))[0], same or {})


async def _proof(function: Callable[..., Any], examples: Sequence[Example], same: Mapping[str, str]) -> Proof:
    problems = [await _problem(function, example, same) for example in examples]
    why = next((one for one in problems if one), "")
    return Proof(examples=len(examples), same=problems.count(""), why=why)


async def _problem(function: Callable[..., Any], example: Example, same: Mapping[str, str]) -> str:
    """What a function does otherwise than an example; nothing where it doesn't."""
    record = _Record(example, {one.key: one.value for one in example.record if one.tool == READ})
    token = CARRYING.set(Within(of=example.name, answer=record.answer))
    try:
        returned = function(**deepcopy(example.input))
        output = jsonable(await returned if isawaitable(returned) else returned)
    except Exception as error:
        told = error.message if isinstance(error, ActumError) else f"{type(error).__name__}: {error}"
        return f"{example.name}: {told}"
    finally:
        CARRYING.reset(token)
    if missing := record.missing():
        return f"{example.name}: {missing} isn't called"
    if not is_alike(*as_same(output, example.output, same)):
        return f"{example.name}: it comes to {encode(output)[:200]}, not to {encode(example.output)[:200]}"
    return ""


@dataclass(slots=True)
class _Record:
    """Answers calls by what an example's came to, those with effects in their order only."""

    example: Example
    read: Mapping[str, Json]
    """What a reader answers."""
    made: Counter[str] = field(default_factory=Counter[str])
    effects: int = 0

    async def answer(self, call: Mapping[str, Any]) -> Json:
        """The value that is on record."""
        tool = str(call.get("_tool"))
        key = call_key(tool, {name: value for name, value in call.items() if not name.startswith("_")})
        same = [step for step in self.example.steps if call_key(step.tool, step.arguments) == key]
        if key in self.read and not same:
            return deepcopy(self.read[key])
        found = next((step for step in same if step.reads), None)
        if found is None:
            effects = [step for step in self.example.steps if not step.reads]
            due = effects[self.effects] if self.effects < len(effects) else None
            found, self.effects = next((step for step in same if step is due), None), self.effects + 1
        if found is None:
            raise ActumError(f"{key[:200]} isn't what was called")
        self.made[key] += 1
        return deepcopy(found.value)

    def missing(self) -> str:
        """A call that was not made."""
        wanted = Counter(call_key(step.tool, step.arguments) for step in self.example.steps)
        return next(iter(wanted - self.made), "")


def _loaded(source: str, function: str) -> Callable[..., Any]:
    """The function of a module that is registered nowhere."""
    module = f"actum.refine.written_{function}"
    held: dict[str, Any] = {"__name__": module}

    def load() -> str:
        exec(compile(source, f"{function}.py", "exec"), held)
        return module

    DEFAULT.loaded(load)
    return held[function]
