"""Proves a written function as a plan is proved: by what it does on the records of the examples (R20, R37)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
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
    a text, as no record has what it reads there.
    """

    path: Path
    function: str
    tests: str

    def save(self) -> Path:
        """Write both, the tests beside the function, and return the path of the tests.

        Raises:
            IdeaError: a file can't be written.
        """
        beside = self.path.with_name(f"test_{self.path.name}")
        write_text(self.path, self.function)
        if self.tests:
            write_text(beside, self.tests)
        return beside


async def as_python(
    refined: Refined,
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
        refined: the plan.
        runs: the kept runs that it was derived from or proved by.
        path: the file, `desk.py`; nothing is written yet.
        idea: the Idea that they are runs of.
        tools: as for `refine`, and so are `same` and `pinned`.

    Raises:
        RefineError: the plan is open or not proved, or can't be written as Python, or the function does something else.
    """
    base, _, toolset = prepared_for(idea, tools, pinned=pinned)
    target = path_given(path)
    if refined.questions or not refined.proof.holds or not refined.proof.examples:
        raise RefineError(f"only a proved plan is written as Python: {refined.proof.why}", code="not_proved")
    if target.suffix != ".py" or not is_python_name(target.stem):
        raise not_python(f"a function of the name {target.name!r}")
    author = Author.of(base.context.messages, toolset.tools, base.schema)
    name = "an Idea" if isinstance(idea, Idea) else Path(idea).name
    about = f"{target.stem}, written from {len(refined.made_of)} recorded runs of {name}."
    source = PythonFunction(target.stem, refined.plan, author, toolset, refined.made_of, about).source()
    proof = await _proof(_loaded(source, target.stem), refined.made_of, same or {})
    if not proof.holds:
        raise RefineError(f"the function does something else: {proof.why}", code="not_python")
    are_files = not refined.asks and not any(isinstance(source, Idea) for source in (idea, *runs))
    tests = proving_module(target.stem, target, str(idea), refined.examples) if are_files else ""
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
    base, agent, toolset = prepared_for(idea, tools)
    return await _proof(function, (await examples_among(runs, toolset, agent, base))[0], same or {})


async def _proof(function: Callable[..., Any], examples: Sequence[Example], same: Mapping[str, str]) -> Proof:
    problems = [await _problem(function, example, same) for example in examples]
    return Proof(examples=len(examples), same=problems.count(""), why=next(filter(None, problems), ""))


async def _problem(function: Callable[..., Any], example: Example, same: Mapping[str, str]) -> str:
    """How what a function does differs from an example; empty if it doesn't."""
    record = _Record(example)
    token = CARRYING.set(Within(of=example.name, answer=record.answer))
    try:
        returned = function(**deepcopy(example.input))
        output = jsonable(await returned if isawaitable(returned) else returned)
    except Exception as error:
        reason = error.message if isinstance(error, ActumError) else f"{type(error).__name__}: {error}"
        return f"{example.name}: {reason}"
    finally:
        CARRYING.reset(token)
    for step in record.missing:
        return f"{example.name}: {call_key(step.tool, step.arguments)} isn't called"
    if not is_alike(*as_same(output, example.output, same)):
        return f"{example.name}: it comes to {encode(output)[:200]}, not to {encode(example.output)[:200]}"
    return ""


class _Record:
    """Answers calls with what an example's calls returned; effects have to come in its order."""

    def __init__(self, example: Example) -> None:
        self.missing = list(example.steps)
        """The calls that were not made yet."""
        self._known = {call.key: call.value for call in example.record if call.tool == READ}

    async def answer(self, call: Mapping[str, Any]) -> Json:
        """The value on record."""
        key = call_key(str(call.get("_tool")), {name: call[name] for name in call if not name.startswith("_")})
        effect = next((step for step in self.missing if not step.reads), None)
        for step in self.missing:
            if (step.reads or step is effect) and call_key(step.tool, step.arguments) == key:
                self.missing.remove(step)
                self._known |= {key: step.value} if step.reads else {}
                return deepcopy(step.value)
        if key not in self._known:
            raise ActumError(f"{key[:200]} isn't what was called")
        return deepcopy(self._known[key])


def _loaded(source: str, function: str) -> Callable[..., Any]:
    """The function of a module that is registered nowhere."""
    module = f"actum.refine.written_{function}"
    namespace: dict[str, Any] = {"__name__": module}

    def load() -> str:
        exec(compile(source, f"{function}.py", "exec"), namespace)
        return module

    DEFAULT.loaded(load)
    return namespace[function]
