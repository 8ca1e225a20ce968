"""What a model is told of a call that can never run: which path it waits for, and what exists instead (C7, P1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from difflib import get_close_matches
from functools import reduce
from itertools import islice
from typing import Any, cast

from ...dataflow.computing.operands import kind
from ...dataflow.expression import MISSING, Expression, references
from ...dataflow.fold import Fold
from ...dataflow.graph import Graph
from ...dataflow.node import NO_ELEMENT, Answer, Node, Status
from ...dataflow.reference import CALLS, RESULTS, Reference, call_index, clip, with_position
from ...dataflow.verdict import CallFate, Fate
from ...errors import ActumError, CyclicPlan, UnresolvedReference
from ...protocol.call import EXPECT, THEN
from ...protocol.lineage import is_named
from ...protocol.message import RESULT
from ...protocol.scopes import notes_of
from ...schema.json import JsonObject, is_list, is_object
from ...schema.type_reading import type_of
from ...schema.types import ANYTHING, Misfit, Object, member
from ..job import ITEM, Job
from ..record.journal import Journal
from ..script import Script

_MOST_NAMED = 8
_MOST_LOOKED_AT = 32
_MOST_COMPARED = 1_000


def stall_error(verdict: CallFate, job: Job, jobs: Mapping[int, Job], journal: Journal) -> ActumError:
    """The structural error of a call whose references will not resolve."""
    tool = job.tool.name if job.call.tool else None
    match verdict.fate:
        case Fate.CYCLE if verdict.references:
            return CyclicPlan(f"it waits for itself: nothing else fills {verdict.references[0]}", tool=tool)
        case Fate.CYCLE:
            elements = [node for node in verdict.nodes if node.index != NO_ELEMENT]
            names = [_name_of(node, jobs) for node in elements[:_MOST_NAMED]]
            if (unnamed := len(elements) - len(names)) > 0:
                names.append(f"{unnamed} more")
            return CyclicPlan(f"these calls wait for each other: {' → '.join([*names, names[0]])}", tool=tool)
        case Fate.FAILED:
            cause = _cause(verdict.nodes[0])
            ended = f"{_name_of(cause, jobs)}, {_how_ended(cause)}"
            if verdict.references:
                return UnresolvedReference(f"{verdict.references[0]} was to come from {ended}", tool=tool).behind()
            advice = "; mend that call and list both again" if cause.is_refused else ""
            return UnresolvedReference(f"it was to start after {ended}: it was not made{advice}", tool=tool).behind()
        case _:
            reference = verdict.references[0]
            near = _suggest_kind(reference, job, jobs) or hint(reference, job.node.answer, job.node.instance, journal)
            return UnresolvedReference(f"nothing fills {reference}; {near}", tool=tool)


_ITEMS = frozenset({"item", "element", "it", "this", "x", "i", "each_item", "row"})


def _suggest_kind(reference: Reference, job: Job, jobs: Mapping[int, Job]) -> str:
    """What a kind that doesn't exist was written for: the item of a call for each, or a tool's result."""
    if job.batch is not None and reference.kind in _ITEMS:
        return f"the item is †{ITEM}"
    for index, node in islice(job.node.answer.nodes.items(), _MOST_LOOKED_AT):
        if (writer := jobs.get(node.number)) is not None and writer.tool.name == reference.kind:
            return f"the result of {writer.tool.name} is {Reference(CALLS, (index,))}"
    return ""


_WITHOUT_RESULT = {
    Status.FAILED: "failed",
    Status.SKIPPED: "was skipped",
    Status.OWED: "is owed by the model",
    Status.HELD: "waits for a decision",
}


def check_scopes(job: Job, failed: Sequence[Node]) -> None:
    """Whether what a call is handed was to be written by calls listed before it that have failed (S8).

    Raises:
        UnresolvedReference: a scope names the path of such a call, or one inside it.
    """
    node = job.node
    for writer in (writer.last for writer in failed) if node.scopes else ():
        for scope in node.scopes:
            if writer.is_to_bring(scope, node):
                cause = f"{describe_element(writer, None)}, {_how_ended(writer)}"
                raise UnresolvedReference(
                    f"its scope {str(scope)[1:]!r} was to come from {cause}", tool=job.tool.name
                ).behind()


def _cause(node: Node) -> Node:
    """The call that has failed, behind a `_then` or a turn that did not let others start."""
    while node.is_barrier and (
        failed := [before for before in node.after if before.status is Status.FAILED or before.is_uncertain]
    ):
        node = failed[0]
    return node


def _name_of(node: Node, jobs: Mapping[int, Job]) -> str:
    job = jobs.get(node.number)
    if node.is_barrier:
        return f"element {node.index} (_then)"
    if job is not None and job.parent is not None:
        return f"item {node.index}"
    return describe_element(node, None if job is None else job.tool.name)


def _how_ended(node: Node) -> str:
    """How a call ended that others were to come after."""
    if node.is_uncertain:
        return "of which nobody knows whether it had its effect"
    return "which was refused" if node.is_refused else "which failed"


def describe_element(node: Node, tool: str | None) -> str:
    """An element of an answer in words: its index, and its tool where it names one."""
    if tool is None and isinstance(node.answer, Script) and node.index < len(node.answer.calls):
        tool = node.answer.calls[node.index].tool
    return f"call {node.index} ({clip(tool, 40)})" if tool else f"element {node.index}"


def missing_in_output(expression: Expression, answer: Answer, graph: Graph, journal: Journal) -> UnresolvedReference:
    """What is wrong with an output that refers to what isn't there (O7)."""
    absent = next(ref for ref in references(expression) if graph.known.evaluate(ref, answer, None) is MISSING)
    return UnresolvedReference(f"'output' refers to {absent}; {hint(absent, answer, None, journal)}", path="output")


def hint(reference: Reference, answer: Answer, instance: str | None, journal: Journal) -> str:
    """What exists nearest to a path that holds nothing."""
    if reference.kind == CALLS:
        return _hint_of_calls(reference, answer)
    if reference.kind == RESULTS:
        return hint_of_results(journal.results)
    depth = len(reference.path)
    while depth and journal.read(Reference(reference.kind, reference.path[:depth]), instance) is MISSING:
        depth -= 1
    nearest = Reference(reference.kind, reference.path[:depth])
    value = journal.read(nearest, instance)
    if value is MISSING:
        kinds = ", ".join(f"†{kind}" for kind in journal.folding.memory.kinds() if kind != RESULT) or "none"
        return f"the data kinds that exist: {kinds}; results are †{CALLS}.N and †{RESULTS}.N"
    wanted = reference.path[depth] if depth < len(reference.path) else ""
    tellable = _named_keys(nearest, value, instance, journal) if is_object(value) else set[str]()
    contents = _contents(value, wanted, tellable | _declared_keys(nearest, journal))
    return f"{nearest} {contents}{_as_position(reference, depth, value)}"


def _named_keys(place: Reference, value: JsonObject, instance: str | None, journal: Journal) -> Set[str]:
    """The keys at a place of a data kind that somebody has written: they may be told, those in data may not."""
    marks = journal.marks(place, instance)
    return {key for key in value if is_named(marks, key, len(place.path))} if marks else value.keys()


def _declared_keys(place: Reference, journal: Journal) -> Set[str]:
    schema = notes_of(journal.messages, place.kind, journal.data_kinds).get("schema")
    try:
        declared = reduce(member, place.path, ANYTHING if schema is None else type_of(schema, is_open=True))
    except Misfit:
        return frozenset()
    return {key for record in declared.alternatives or () if isinstance(record, Object) for key in record.fields}


def hint_of_results(numbers: Collection[int]) -> str:
    """Which results earlier answers have left (O10)."""
    if not numbers:
        return "no result has been shown yet; †calls.N is the result of a call of the same answer"
    return f"the results that have been shown are †results.{min(numbers)} to †results.{max(numbers)}"


def _hint_of_calls(reference: Reference, answer: Answer) -> str:
    index, node, nodes = call_index(reference), answer.named(reference), answer.nodes
    if node is not None and not node.has_value:
        return f"element {index} is {f'a {THEN}' if node.is_barrier else f'an {EXPECT}'}, which has no value"
    if node is not None and node.status is not Status.DONE:
        return f"call {index} {_WITHOUT_RESULT.get(node.status, 'has no result yet')}"
    if node is None:
        return f"the answer has †calls.0 to †calls.{max(nodes)}" if nodes else "the answer has no calls"
    value, depth = node.value, 1
    while depth < len(reference.path):
        inner = Fold(value).read((reference.path[depth],))
        if inner is MISSING:
            break
        value, depth = inner, depth + 1
    return f"{Reference(CALLS, reference.path[:depth])} {_contents(value, '')}{_as_position(reference, depth, value)}"


def _as_position(reference: Reference, depth: int, value: Any) -> str:
    """What to write instead of a key of digits in a list."""
    better = with_position(reference, depth) if is_list(value) else None
    return "" if better is None else f": write {better}"


def _contents(value: Any, wanted: object, tellable: Set[str] = frozenset()) -> str:
    """What a value is, with no keys but those that may be told: others may have written them (E6)."""
    if is_object(value):
        keys = [key for key in islice(value, _MOST_COMPARED) if key in tellable]
        near = get_close_matches(str(wanted), keys, n=3, cutoff=0.6)
        if keys:
            named = ", ".join(clip(key, 40) for key in (near or keys)[:_MOST_NAMED])
            return f"has {'near it ' if near else ''}{named}"
        count = len(value)
        return (
            f"is an object of {count:,} key{'s' * (count != 1)}, of which this is none"
            if count
            else "is an empty object"
        )
    if isinstance(value, list):
        return f"is a list of {len(cast('list[Any]', value))}"
    return f"is {kind(value)}"
