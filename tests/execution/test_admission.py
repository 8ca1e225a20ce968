"""A call as it is taken in: what it reads and writes, and what is refused before anything of it runs (C2, T8, O3)."""

from __future__ import annotations

import pytest

from actum import Call, Context, Limits, Tools, errors
from actum.dataflow.node import Answer, Node
from actum.execution.budget import Budget
from actum.execution.calls.admission import admit
from actum.execution.calls.filling import resolve_call
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
    return admit(Call(call), Ground(Journal(context), offered(context, tools)), Node(0, Answer(), 0), script)


def test_a_call_is_entered_with_what_it_reads_and_writes() -> None:
    job = judged({"_tool": "writes", "to": "†calls.0.name", "_outputPath": "†state.a *> †state.b", "_instance": "①"})
    assert [str(reference) for reference in job.node.expressions] == ["†calls.0.name"]
    assert [str(path) for path in job.node.writes] == ["†state.a", "†state.b"]
    assert (job.node.instance, str(job.place), job.of) == ("①", "0.0", "0.0")


def test_scopes_are_reads_of_code_and_delegates_alone() -> None:
    job = judged({"_tool": "scoped", "_scopes": ["state"]})
    assert [str(scope) for scope in job.node.scopes] == ["†state"]
    assert judged({"_tool": "plain", "to": "x"}).node.scopes == ()


def test_references_beside_the_parameters_are_put_in_their_places() -> None:
    job = judged({"_tool": "plain", "_with": {"to": "†calls.1"}})
    assert resolve_call(job, ["ana"], Budget(Limits())) == {"_tool": "plain", "to": "ana"}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({}, errors.UnknownTool, "a call names its tool in '_tool'; what only computes is in '_value'"),
        ({"_tool": "plein"}, errors.UnknownTool, "tool 'plein': no tool 'plein' is offered; near it: plain"),
        (
            {"_tool": "plain", "_what": 1},
            errors.InvalidParameters,
            "tool 'plain', at _what: '_what' is not a meta-property; did you mean '_when'?",
        ),
        (
            {"_tool": "plain", "_instance": "②"},
            errors.InvalidParameters,
            "tool 'plain', at _instance: there is no instance '②'; there are: ①",
        ),
        (
            {"_tool": "plain", "_instance": 1},
            errors.InvalidParameters,
            "tool 'plain', at _instance: an instance is named by a text, not 1",
        ),
        (
            {"_tool": "plain", "to": "†state[", "_outputPath": "†state.x"},
            errors.UnresolvedReference,
            "tool 'plain', at to: more than a reference stands in braces, as an expression: {†state[}",
        ),
        (
            {"_tool": "plain", "_activity": "other"},
            errors.ScopeDenied,
            "tool 'plain', at _activity: '_activity' is the tool's to say, and it says none",
        ),
        (
            {"_tool": "plain", "_scopes": ["state"]},
            errors.ScopeDenied,
            "tool 'plain', at _scopes: it has no scopes to pick from",
        ),
        (
            {"_tool": "scoped", "_scopes": ["input"]},
            errors.ScopeDenied,
            "tool 'scoped', at _scopes: the scope 'input' is not among ['state', 'text']",
        ),
        (
            {"_tool": "chooses"},
            errors.InvalidParameters,
            "tool 'chooses', at _delegate: it has several delegates: choose one in '_delegate'",
        ),
        (
            {"_tool": "writes", "_outputPath": "state.x"},
            errors.InvalidParameters,
            "tool 'writes', at _outputPath: an output path begins with †, not 'state.x'",
        ),
        (
            {"_tool": "writes", "_outputPath": "†calls.0"},
            errors.InvalidParameters,
            "tool 'writes', at _outputPath: †calls can't be written: it is not a kind of data",
        ),
        (
            {"_tool": "writes", "_outputPath": "†state.approvals.x"},
            errors.ScopeDenied,
            "tool 'writes', at _outputPath: †state.approvals.x is a gate: a call can't open it",
        ),
        (
            {"_tool": "fixed", "_outputPath": "†state.y"},
            errors.ScopeDenied,
            "tool 'fixed', at _outputPath: its output path is fixed to †state.x",
        ),
        (
            {"_tool": "plain", "_with": ["to"]},
            errors.InvalidParameters,
            "tool 'plain', at _with: it maps parameter paths to references",
        ),
        (
            {"_tool": "plain", "_with": {"to": "ana"}},
            errors.InvalidParameters,
            "tool 'plain', at _with.to: 'ana' is not a reference",
        ),
        (
            {"_tool": "plain", "_with": {"to]": "†calls.0"}},
            errors.InvalidParameters,
            "tool 'plain', at _with: 'to]' is not the path of a parameter",
        ),
        (
            {"_value": 1, "_tool": "plain"},
            errors.InvalidParameters,
            "tool 'plain', at _value: it is a call of a tool or a '_value', not both",
        ),
        ({"_value": 1, "x": 1}, errors.InvalidParameters, "at x: what only computes takes no 'x'"),
        (
            {"_tool": "plain", "_instence": "①"},
            errors.InvalidParameters,
            "tool 'plain', at _instence: '_instence' is not a meta-property; did you mean '_instance'?",
        ),
        (
            {"_tool": "plain", "_when": "yes"},
            errors.InvalidParameters,
            (
                "tool 'plain', at _when: "
                'a condition is an expression such as "{†calls.0.total > 10}", or a reference to true or false'
            ),
        ),
        (
            {"_tool": "plain", "_when": "calls.0 > 1"},
            errors.InvalidParameters,
            (
                "tool 'plain', at _when: "
                'a condition is an expression such as "{†calls.0.total > 10}", or a reference to true or false'
            ),
        ),
        (
            {"_tool": "plain", "_when": "†calls.0 > 1"},
            errors.InvalidParameters,
            "tool 'plain', at _when: an expression stands in braces: {†calls.0 > 1}",
        ),
        (
            {"_tool": "plain", "_each": "†calls.0 + 1"},
            errors.InvalidParameters,
            "tool 'plain', at _each: an expression stands in braces: {†calls.0 + 1}",
        ),
        (
            {"_expect": 1},
            errors.InvalidParameters,
            (
                "tool '_expect', at _expect: "
                'a condition is an expression such as "{†calls.0.total > 10}", or a reference to true or false'
            ),
        ),
        (
            {"_expect": True, "x": 1},
            errors.InvalidParameters,
            ('at _expect: what is expected is {"_expect": …} and nothing else: a call is an element of its own'),
        ),
        (
            {"_expect": {"of": "†calls.0"}},
            errors.InvalidParameters,
            'at _expect: with a shape it is {"of": reference, "as": shape}',
        ),
        (
            {"_expect": {"of": "x", "as": "text"}},
            errors.InvalidParameters,
            "at _expect.of: it is a reference, such as †calls.0",
        ),
        (
            {"_expect": {"of": 1, "as": "text"}},
            errors.InvalidParameters,
            "at _expect.of: it is a reference, such as †calls.0",
        ),
        (
            {"_expect": "†calls.0 +"},
            errors.InvalidParameters,
            "tool '_expect', at _expect: an expression stands in braces: {†calls.0 +}",
        ),
        (
            {"_tool": "writes", "_outputPath": "†state.a <|> (†state.b *> †state.c)"},
            errors.InvalidParameters,
            "tool 'writes', at _outputPath: an alternative is one path",
        ),
        (
            {"_tool": "writes", "_outputPath": 5},
            errors.InvalidParameters,
            "tool 'writes', at _outputPath: an output path begins with †, not 5",
        ),
        (
            {"_tool": "writes", "_outputPath": "†state.["},
            errors.InvalidParameters,
            "tool 'writes', at _outputPath: no path segment can be read at character 6 of '†state.['",
        ),
        (
            {"_tool": "writes", "_outputPath": "†state.a", "_outputMethod": "add"},
            errors.InvalidParameters,
            "tool 'writes', at _outputMethod: 'add' is not one of set, merge, assign, push, concat, erase",
        ),
        (
            {"_tool": "chooses", "_delegate": "zz"},
            errors.InvalidParameters,
            'tool \'chooses\', at _delegate: "zz" is not one of "one" or "two"',
        ),
        (
            {"_tool": "plain", "_delegate": "d"},
            errors.ScopeDenied,
            "tool 'plain', at _delegate: '_delegate' is the tool's to say, and it says none",
        ),
        (
            {"_tool": "plain", "_with": {"to": 5}},
            errors.InvalidParameters,
            "tool 'plain', at _with.to: 5 is not a reference",
        ),
        (
            {"_tool": "plain", "_with": {"to.x[": "†calls.0"}},
            errors.UnresolvedReference,
            "tool 'plain', at _with: no path segment can be read at character 16 of '†parameters.to.x['",
        ),
        (
            {"_tool": "plain", "to": "a {†calls.0"},
            errors.UnresolvedReference,
            (
                "tool 'plain', at to: "
                "the group that opens at character 2 isn't closed within 4,000 characters, or a quote in it isn't: "
                "'{†calls.0'"
            ),
        ),
        (
            {"_tool": "plain", "to": ["†calls.0["]},
            errors.UnresolvedReference,
            "tool 'plain', at to[0]: more than a reference stands in braces, as an expression: {†calls.0[}",
        ),
        (
            {"_tool": "plain", "_effects": "none"},
            errors.InvalidParameters,
            "tool 'plain', at _effects: '_effects' is not a meta-property; did you mean '_expect'?",
        ),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_call_by_itself_is_said(call: Json, error: type[errors.CallError], message: str) -> None:
    with pytest.raises(error) as raised:
        judged(call)
    assert raised.value.message == message
    place = f"at {raised.value.path}: "
    assert (place in message) == (raised.value.path is not None)


@pytest.mark.rule("S9")
def test_what_a_developer_adds_is_part_of_the_tool_of_that_call_alone() -> None:
    job = judged({"_tool": "plain", "to": "x", "_scopes": ["state.a"], "_delegate": "anonymous"}, is_authored=True)
    assert (job.tool.is_delegated, job.scopes) == (True, ["state.a"])
    assert not judged({"_tool": "plain", "to": "x"}, is_authored=True).tool.is_delegated
