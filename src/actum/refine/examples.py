"""A kept run as an example: its input, its calls as they were carried out, its output (R5, R30)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ..app.idea import Idea
from ..app.recorded import RecordedCall, call_key, calls_on_record
from ..errors import IdeaError, RefineError
from ..generation.offer import Toolset
from ..ideas.file import read_idea, write_idea
from ..ideas.ticks import TOOLS, about_of
from ..inspection.account import Account, account_of
from ..inspection.origins import calls_of
from ..protocol.call import Place
from ..protocol.message import NUMBER, OF, REFINED
from ..protocol.provenance import MODEL
from ..protocol.solution import CallAccount
from ..schema.json import Json, JsonObject, leaves_of, with_texts
from ..sources.files import path_given, read_text, write_text

_MOST_CALLS = 64
_MOST_LEAVES = 2_000
_MOST_READ = 20_000
_MOST_ELEMENTS = 10_000
_MARK, _NEVER = "refine", "never"
_OWN_WAYS = frozenset({"_each", "_when", "_else", "_instance", "_scopes"})
"""Keys with which a call of a model isn't refined."""
_CALLS = re.compile(r"†(calls|results)\.(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of an example. `authored` are its parameters as they were written, `arguments` as carried out.

    `places` are its place and those of the equal reads that it stands for.
    """

    places: tuple[str, ...]
    answer: int
    tool: str
    reads: bool
    authored: JsonObject
    arguments: JsonObject
    value: Json
    is_latent: bool
    """Whether the model itself has carried it out."""

    @property
    def kind(self) -> tuple[str, tuple[str, ...]]:
        """By what it is found in other examples: its tool and the names of its parameters."""
        return self.tool, tuple(sorted(self.arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A run that counts: its `steps` in the order of its shape, its `output` and how that was authored."""

    name: str
    run: Idea
    given: Sequence[JsonObject]
    input: JsonObject
    steps: Sequence[Step]
    output: Json
    authored_output: Json
    last: int
    """The number of its last answer."""
    record: Sequence[RecordedCall]
    """What its calls returned, and what a reader would have answered a plan."""

    def numbered(self, value: Any, answer: int, numbers: Mapping[str, int]) -> Any:
        """A value as authored in an answer, with its calls renumbered by their places."""

        def named(match: re.Match[str]) -> str:
            place = self.place_of(match[1], int(match[2]), answer)
            return f"†calls.{numbers[place]}" if place in numbers else "†calls.-1"

        return with_texts(value, partial(_CALLS.sub, named))

    def place_of(self, kind: str, number: int, answer: int) -> str:
        """The place of the call that an answer names as `†calls.N` or `†results.N`."""
        if kind == "calls":
            return f"{answer}.{number}"
        return next((str(message.get(OF)) for message in self.run.context if message.get(NUMBER) == number), "")

    def reads_of(self, step: Step) -> set[str]:
        """The places of the calls that a step's author referred to."""
        texts = (value for _, value in leaves_of(step.authored) if isinstance(value, str))
        matches = (match for text in texts for match in _CALLS.finditer(text))
        return {self.place_of(match[1], int(match[2]), step.answer) for match in matches}


def example_of(run: Idea, name: str, toolset: Toolset) -> Example:
    """A kept run as an example, of today's tools.

    Raises:
        RefineError: it can't be one, with the code that says why.
        IdeaError: no run is kept there.
    """
    if run.meta.get(_MARK) == _NEVER:
        raise RefineError(f"{name}: it is marked as no example", code=_NEVER)
    account = account_of(run, name)
    if account.output is None or account.waiting or account.gates:
        raise RefineError(f"{name}: only a run that has ended with an output is an example", code="other_shape")
    if account.idea.context.instances or sum(answer.output is not None for answer in account.answers) > 1:
        raise RefineError(f"{name}: runs of several turns or instances aren't refined", code="other_shape")
    begins = _begins(account, name)
    steps = _steps(account, calls_of(run), toolset.reading, name)
    noted: Mapping[str, Any] = account.about.get(TOOLS, {})
    for tool in (step.tool for step in steps if step.tool in noted):
        if not f"{toolset.digests.get(tool)} ".startswith(f"{noted[tool]} "):
            raise RefineError(f"{name}: the tool {tool!r} is another one today", code="stale")
    if len(steps) > _MOST_CALLS:
        raise RefineError(f"{name}: {len(steps)} calls, at most {_MOST_CALLS} are refined", code="too_large")
    written = [step.arguments for step in steps]
    if _has_more({"steps": written, "output": account.output}, _MOST_LEAVES):
        raise RefineError(f"{name}: it has more than {_MOST_LEAVES:,} values", code="too_large")
    if _has_more([step.value for step in steps], _MOST_READ):
        raise RefineError(f"{name}: its results have more than {_MOST_READ:,} values", code="too_large")
    given = run.context.with_messages(begins)
    return Example(
        name=name,
        run=run,
        given=begins,
        input=given.data.get("input") or {},
        steps=steps,
        output=account.output,
        authored_output=next(answer.output for answer in reversed(account.answers) if answer.output is not None),
        last=max(answer.number for answer in account.answers),
        record=[call for call in calls_on_record(run, name, toolset.reading) if call.error is None],
    )


def _begins(account: Account, name: str) -> Sequence[JsonObject]:
    """What an example was given: if the run has left a refined plan, what came before the plan (R26)."""
    at = next((at for at, message in enumerate(account.idea.context) if REFINED in message), None)
    planned = [answer.request is None for answer in account.answers]
    if all(planned) or (at is None and any(planned)):
        raise RefineError(f"{name}: a plan has made it, and no model", code="other_shape")
    return account.given if at is None else account.idea.context.messages[:at]


def never(run: str | Path) -> None:
    """Mark a kept run as no example: nothing is derived from it any more.

    Raises:
        IdeaError: no run that has ended is kept there, or the file can't be written.
    """
    path = path_given(run)
    idea = Idea.load(path)
    if about_of(idea.meta, str(run)).get("output") is None:
        raise IdeaError(f"{run}: only a run that has ended with an output can be an example")
    text = read_idea(read_text(path), str(run))
    write_text(path, write_idea(replace(text, meta={**text.meta, _MARK: _NEVER})))


def _has_more(value: Any, most: int) -> bool:
    return next(islice(leaves_of(value), most, None), None) is not None


def _steps(account: Account, calls: Sequence[CallAccount], reads: Collection[str], name: str) -> list[Step]:
    """The calls that came to something; equal reads are one, unless an effect lies between (R6)."""
    steps: list[Step] = []
    read_at: dict[str, int] = {}
    refined = {answer.number for answer in account.answers if answer.request is None}
    for call in calls:
        step = _step(account, call, call.tool in reads, name, is_refined=Place.parse(call.place).answer in refined)
        if step is None:
            continue
        if not step.reads:
            read_at.clear()
        at = read_at.setdefault(call_key(step.tool, step.arguments), len(steps)) if step.reads else len(steps)
        if at < len(steps):
            steps[at] = replace(steps[at], places=(*steps[at].places, *step.places))
        else:
            steps.append(step)
    return steps


def _step(account: Account, call: CallAccount, is_read: bool, name: str, *, is_refined: bool) -> Step | None:
    # a reference of a refined plan proves nothing new: its other examples have explained it
    seen = account.find(call.place)
    authored = {} if is_refined else None if seen is None else seen.authored
    if authored is None or _OWN_WAYS & authored.keys():
        keys = "_each" if authored is None else ", ".join(sorted(_OWN_WAYS & authored.keys()))
        raise RefineError(f"{name}: call {call.place} was written with {keys}", code="other_shape")
    is_latent = call.by == MODEL
    if call.state != "done":
        # a model's call that wasn't made was denied or corrected: a record doesn't tell these apart
        if not (is_read or is_latent or (is_refined and call.state == "not made")):
            raise RefineError(f"{name}: the effect {call.tool} (call {call.place}) {call.state}", code="failed_effect")
        return None
    place = Place.parse(call.place)
    return Step(
        places=(call.place,),
        # the elements of a plan come in order, before all answers: each may read the earlier ones
        answer=(place.index or 0) - _MOST_ELEMENTS if is_refined else place.answer,
        tool=call.tool,
        reads=is_read or is_latent,
        authored={key: value for key, value in authored.items() if not key.startswith("_")},
        arguments=call.arguments,
        value=call.value,
        is_latent=is_latent,
    )
