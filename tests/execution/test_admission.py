"""A call as it is taken in: what it reads and writes, and what is refused before anything of it runs (C2, T8, O3)."""

from __future__ import annotations

import pytest

from actum import Call, Context, Limits, Tools, errors
from actum.dataflow.node import Answer, Node
from actum.execution.budget import Budget
from actum.execution.calls.admission import judge
from actum.execution.calls.resolving import resolved
from actum.execution.ground import Ground
from actum.execution.job import Job
from actum.execution.record.journal import Journal
from actum.execution.script import Script
from actum.generation.offer import offered
from actum.schema.json import JsonObject as Json

TEXT: Json = {"type": "string"}
TOOLS: dict[str, Json] = {
    "plain": {"properties": {"to": TEXT}, "required": ["to"]},
    "writes": {"properties": {"to": TEXT, "_output": TEXT, "_outputPath": {"type": "string"}}},
    "fixed": {"properties": {"to": TEXT, "_output": TEXT}, "_outputPath": "†state.x"},
    "scoped": {"properties": {"_scopes": {"type": "array", "items": {"enum": ["state", "text"]}}}},
    "chooses": {"properties": {"_delegate": {"enum": ["one", "two"]}}},
}


def judged(call: Json, *, is_authored: bool = False) -> Job:
    tools = Tools()
    for name, schema in TOOLS.items():
        tools.register(name, schema)
    tools.activity("scoped", lambda: None)
    script = Script(is_authored=is_authored)
    context = Context([{"type": "state", "a": 1, "_instance": "①"}])
    return judge(Call(call), Ground(Journal(context), offered(context, tools)), Node(0, Answer(), 0), script)


def test_a_call_is_entered_with_what_it_reads_and_writes() -> None:
    job = judged({"_tool": "writes", "to": "†calls.0.name", "_outputPath": "†state.a *> †state.b", "_instance": "①"})
    assert [str(one) for one in job.node.expressions] == ["†calls.0.name"]
    assert [str(one) for one in job.node.writes] == ["†state.a", "†state.b"]
    assert (job.node.instance, str(job.place), job.of) == ("①", "0.0", "0.0")


def test_scopes_are_reads_of_code_and_delegates_alone() -> None:
    job = judged({"_tool": "scoped", "_scopes": ["state"]})
    assert [str(one) for one in job.node.scopes] == ["†state"]
    assert judged({"_tool": "plain", "to": "x"}).node.scopes == ()


def test_references_beside_the_parameters_are_put_in_their_places() -> None:
    job = judged({"_tool": "plain", "_with": {"to": "†calls.1"}})
    assert resolved(job, ["ana"], Budget(Limits())) == {"_tool": "plain", "to": "ana"}


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        ({}, errors.UnknownTool, "names its tool"),
        ({"_tool": "plein"}, errors.UnknownTool, "near it: plain"),
        ({"_tool": "plain", "_what": 1}, errors.InvalidParameters, "is not a meta-property"),
        ({"_tool": "plain", "_instance": "②"}, errors.InvalidParameters, "there are: ①"),
        ({"_tool": "plain", "_instance": 1}, errors.InvalidParameters, "named by a text"),
        ({"_tool": "plain", "to": "†state[", "_outputPath": "†state.x"}, errors.UnresolvedReference, "†state["),
        ({"_tool": "plain", "_activity": "other"}, errors.ScopeDenied, "'_activity'"),
        ({"_tool": "plain", "_scopes": ["state"]}, errors.ScopeDenied, "no scopes"),
        ({"_tool": "scoped", "_scopes": ["input"]}, errors.ScopeDenied, "'input'"),
        ({"_tool": "chooses"}, errors.InvalidParameters, "several delegates"),
        ({"_tool": "writes", "_outputPath": "state.x"}, errors.InvalidParameters, "begins with †"),
        ({"_tool": "writes", "_outputPath": "†calls.0"}, errors.InvalidParameters, "can't be written"),
        ({"_tool": "writes", "_outputPath": "†state.approvals.x"}, errors.ScopeDenied, "is a gate"),
        ({"_tool": "fixed", "_outputPath": "†state.y"}, errors.ScopeDenied, "is fixed to †state.x"),
        ({"_tool": "plain", "_with": ["to"]}, errors.InvalidParameters, "maps parameter paths"),
        ({"_tool": "plain", "_with": {"to": "ana"}}, errors.InvalidParameters, "is not a reference"),
        ({"_tool": "plain", "_with": {"to]": "†calls.0"}}, errors.InvalidParameters, "is not the path of a parameter"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_call_by_itself_is_said(call: Json, error: type[errors.CallError], said: str) -> None:
    with pytest.raises(error) as raised:
        judged(call)
    assert said in raised.value.message


@pytest.mark.rule("S9")
def test_what_a_developer_adds_is_part_of_the_tool_of_that_call_alone() -> None:
    job = judged({"_tool": "plain", "to": "x", "_scopes": ["state.a"], "_delegate": "anonymous"}, is_authored=True)
    assert (job.tool.is_delegated, job.scopes) == (True, ["state.a"])
    assert not judged({"_tool": "plain", "to": "x"}, is_authored=True).tool.is_delegated
