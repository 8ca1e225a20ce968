"""Everything that is wrong with the calls of a plan, as far as it can be known before they run (C2, C3, C7, P1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from ..dataflow.expression import MISSING, references
from ..dataflow.graph import CALLS, Answer, Node, call_index, overlaps
from ..dataflow.reference import Reference
from ..errors import ActumError, CallError, CyclicPlan, InvalidParameters, UnresolvedReference
from ..execution.calls.admission import judge
from ..execution.calls.diagnosis import hint
from ..execution.calls.job import Job
from ..execution.calls.script import Script
from ..execution.record.journal import Journal, is_gate
from ..generation.offer import Toolset
from ..protocol.call import Call
from ..protocol.context import Context
from ..schema.json import JsonObject
from ..schema.validator import Validator
from .graph import PlanGraph, add_calls


def plan_problems(plan: Sequence[Any], context: Context, toolset: Toolset) -> Iterator[tuple[ActumError, int]]:
    """The errors of a plan's calls, each with the index of the call."""
    answer = Script()
    jobs: dict[int, Job] = {}
    calls: list[Call] = []
    for place, element in enumerate(plan):
        node = answer.nodes[place] = Node(place, answer, place)
        judged = _judged(element, context, toolset, node, answer)
        if isinstance(judged, ActumError):
            yield judged, place
        else:
            jobs[place] = judged
        calls.append(Call() if isinstance(judged, ActumError) else judged.call)
    journal = Journal(context)
    for place, job in jobs.items():
        for error in _wrong_in(job, jobs, len(calls), answer, journal, context):
            yield error, place
    for cycle in _cycles(calls):
        names = " → ".join(f"call {place} ({calls[place].tool})" for place in [*cycle, cycle[0]])
        yield CyclicPlan(f"these calls wait for each other: {names}"), cycle[0]


def _judged(element: Any, context: Context, toolset: Toolset, node: Node, script: Script) -> Job | ActumError:
    if not isinstance(element, dict):
        return InvalidParameters("a call is a JSON object")
    try:
        return judge(Call(cast("JsonObject", element)), toolset, context.instances, node, script)
    except ActumError as error:
        return error


def _wrong_in(
    job: Job, jobs: dict[int, Job], count: int, answer: Answer, journal: Journal, context: Context
) -> Iterator[CallError]:
    open_places = {place[0] for place in job.template.places}
    literal = {key: value for key, value in job.call.parameters.items() if key not in open_places}
    schema = {**job.tool.parameters}
    schema["required"] = [name for name in schema.get("required", []) if name not in open_places]
    if (complaint := Validator(schema).complaint(literal)) is not None:
        yield InvalidParameters(complaint, tool=job.tool.name)
    for reference in dict.fromkeys(one for expression in job.node.expressions for one in references(expression)):
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
            first = cycle.index(min(cycle))
            cycles.append(list(reversed([*cycle[first + 1 :], *cycle[: first + 1]])))
        for index in way:
            left.pop(index, None)
    return cycles
