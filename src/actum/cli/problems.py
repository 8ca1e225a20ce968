"""Everything that is wrong with an Idea, found without running it, each with its place in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from .. import tools as registry
from ..dataflow.expression import MISSING, references
from ..dataflow.graph import CALLS, Answer, Node, call_index, overlaps
from ..dataflow.reference import Reference
from ..errors import ActumError, CallError, CyclicPlan, InvalidParameters, MessageError, UnresolvedReference
from ..execution.complaints import hint
from ..execution.job import Job, judge
from ..execution.journal import Journal, is_gate
from ..generation.offer import Toolset, offered
from ..ideas.file import read_idea
from ..messages.tool import tools_of
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.message import DATA_KINDS, check_message
from ..schema.json import JsonObject, NotJson, decode
from ..schema.validator import Validator
from ..sources.modules import load_activities
from .graph import PlanGraph, add_calls
from .loading import config_of

_KEYS = ("meta", "config", "context", "schema", "solution")
Place = tuple["str | int", ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where in the Idea."""

    error: ActumError
    place: Place = ()


@dataclass(slots=True)
class Inspection:
    """What was found; `context` and `toolset` are there as far as the Idea is sound."""

    problems: list[Problem] = field(default_factory=list[Problem])
    context: Context | None = None
    toolset: Toolset | None = None

    def attempt(self, act: Callable[[], Any], *place: str | int) -> Any:
        """Do something and keep its error; None where it failed."""
        try:
            return act()
        except ActumError as error:
            self.problems.append(Problem(error, (*place, *_inner(error))))
            return None


def inspect(value: JsonObject, folder: Path) -> Inspection:
    """Look at all parts of an Idea's JSON."""
    found = Inspection()
    for key in value:
        if key not in _KEYS and not key.startswith("$"):
            error = InvalidParameters(f"an Idea has no {key!r}; it has {', '.join(_KEYS)}")
            found.problems.append(Problem(error, (key,)))
    _inspect_config(value.get("config", {}), folder, found)
    if "schema" in value:
        found.attempt(lambda: Validator(value["schema"]), "schema")
    messages = value.get("context")
    if not isinstance(messages, list):
        found.problems.append(Problem(InvalidParameters("'context' is a list of messages"), ("context",)))
        return found
    sound = [
        checked
        for index, message in enumerate(cast("list[Any]", messages))
        if (checked := _inspect_message(message, index, found)) is not None
    ]
    if len(sound) == len(cast("list[Any]", messages)):
        found.context = Context.checked(sound)
        found.attempt(found.context.memory, "context")
        found.toolset = found.attempt(lambda: offered(cast("Context", found.context), registry), "context")
    if found.context is not None and found.toolset is not None:
        for index, message in enumerate(sound):
            if message.get("type") == "plan":
                _inspect_plan(message, index, found.context, found.toolset, found)
    return found


def _inspect_config(config: Any, folder: Path, found: Inspection) -> None:
    if not isinstance(config, dict):
        found.problems.append(Problem(InvalidParameters("'config' is an object"), ("config",)))
        return
    settings = cast("JsonObject", config)
    found.attempt(lambda: config_of(settings, "the Idea"), "config")
    named: Any = settings.get("activities", [])
    for index, name in enumerate(cast("list[Any]", named if isinstance(named, list) else [named])):
        found.attempt(lambda name=name: load_activities(str(name), folder), "config", "activities", index)


def _inspect_message(message: Any, index: int, found: Inspection) -> JsonObject | None:
    checked = found.attempt(lambda: check_message(message, index, (), DATA_KINDS), "context", index)
    if checked is not None and checked.get("type") == "tool":
        found.attempt(lambda: list(tools_of(checked, index)), "context", index, "tool")
    if checked is not None and isinstance(checked.get("schema"), dict):
        found.attempt(lambda: Validator(checked["schema"]), "context", index, "schema")
    return checked


def _inspect_plan(message: JsonObject, index: int, context: Context, toolset: Toolset, found: Inspection) -> None:
    answer = Answer()
    jobs: dict[int, Job] = {}
    calls: list[Call] = []
    for place, element in enumerate(cast("list[Any]", message["plan"])):
        at = ("context", index, "plan", place)
        if not isinstance(element, dict):
            found.problems.append(Problem(InvalidParameters("a call is a JSON object"), at))
            calls.append(Call())
            continue
        call = found.attempt(lambda element=element: Call(cast("JsonObject", element)), *at) or Call()
        calls.append(call)
        node = Node(place, answer, place)
        answer.nodes[place] = node
        job = found.attempt(lambda call=call, node=node: judge(call, toolset, context.instances, node), *at)
        if job is not None:
            jobs[place] = job
    journal = Journal(context)
    for place, job in jobs.items():
        for error in _wrong_in(job, jobs, len(calls), answer, journal, context):
            found.problems.append(Problem(error, ("context", index, "plan", place)))
    for cycle in _cycles(calls):
        names = " → ".join(f"call {place} ({calls[place].tool})" for place in [*cycle, cycle[0]])
        error = CyclicPlan(f"these calls wait for each other: {names}")
        found.problems.append(Problem(error, ("context", index, "plan", cycle[0])))


def _wrong_in(
    job: Job, jobs: dict[int, Job], count: int, answer: Answer, journal: Journal, context: Context
) -> Iterator[CallError]:
    open_places = {place[0] for place in job.template.places}
    literal = {key: value for key, value in job.call.parameters.items() if key not in open_places}
    schema = {**job.tool.parameters}
    schema["required"] = [name for name in schema.get("required", []) if name not in open_places]
    if (complaint := Validator(schema).complaint(literal)) is not None:
        yield InvalidParameters(complaint, tool=job.tool.name)
    for reference in dict.fromkeys(one for expression in job.template.expressions for one in references(expression)):
        if not _can_resolve(reference, job, jobs, count, journal, context):
            near = hint(reference, answer, job.node.instance, journal)
            yield UnresolvedReference(f"nothing fills {reference}; {near}", tool=job.tool.name)


def _can_resolve(
    reference: Reference, job: Job, jobs: dict[int, Job], count: int, journal: Journal, context: Context
) -> bool:
    if reference.kind == CALLS:
        index = call_index(reference)
        return index is not None and index < count
    if is_gate(reference) or journal.read(reference, job.node.instance) is not MISSING:
        return True
    if reference.kind == "input" and reference.path and reference.path[0] in _declared_inputs(context):
        return True
    return any(overlaps(written, reference) for other in jobs.values() for written in other.node.writes)


def _declared_inputs(context: Context) -> set[str]:
    schemas = [message["schema"] for message in context if message.get("type") == "input" and "schema" in message]
    return {
        name
        for schema in schemas
        if isinstance(schema, dict)
        for name in cast("JsonObject", schema).get("properties", {})
    }


def _cycles(calls: list[Call]) -> list[list[int]]:
    graph = PlanGraph()
    add_calls(graph, calls, None)
    reads: dict[int, list[int]] = {index: [] for index in range(len(calls))}
    for edge in graph.edges:
        if edge.source < len(calls):
            reads[edge.target].append(edge.source)
    left = dict(reads)
    while free := [index for index, sources in left.items() if not any(source in left for source in sources)]:
        for index in free:
            del left[index]
    cycles: list[list[int]] = []
    while left:
        way: list[int] = [next(iter(left))]
        while (
            following := next((one for one in left[way[-1]] if one in left), None)
        ) not in way and following is not None:
            way.append(following)
        cycle = way[way.index(following) :] if following is not None else way
        if following is not None:
            cycles.append(list(reversed(cycle)))
        for index in way:
            left.pop(index, None)
    return cycles


def _inner(error: ActumError) -> Place:
    """The place that an error names inside what was judged, as far as it is a path."""
    if not error.path or isinstance(error, MessageError):
        return ()
    return tuple(part for part in error.path.replace("[", ".").replace("]", "").split(".") if part)


def parsed(text: str, name: str) -> JsonObject:
    """The JSON of an Idea file.

    Raises:
        IdeaError: where it is none; the message names line and column.
    """
    if name.endswith((".yaml", ".yml")):
        return read_idea(text, name).to_dict()
    try:
        value = decode(text.removeprefix("\ufeff"))
    except NotJson:
        value = None
    return value if isinstance(value, dict) else read_idea(text, name).to_dict()
