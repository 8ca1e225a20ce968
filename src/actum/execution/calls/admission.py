"""Taking in a call: judged before its references resolve, with what it reads and writes (C2, T8, O3)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ...dataflow.computing.text import Computed
from ...dataflow.expression import (
    Each,
    Expression,
    First,
    Template,
    TextBounds,
    is_expression,
    parse,
    template,
    written_paths,
)
from ...dataflow.fold import METHODS, Fold, OutputMethod, UnfitWrite
from ...dataflow.node import Node
from ...dataflow.reference import SIGIL, Path, Reference, ReferenceSyntax, clip, scan_reference
from ...errors import InvalidParameters, SchemaError, ScopeDenied, UnknownTool, UnresolvedReference
from ...generation.offer import Toolset
from ...protocol.call import EACH, ELSE, EXPECT, META, ONLY_EXPECT, THEN, VALUE, WHEN, WITH, Call
from ...protocol.message import RESERVED_KINDS
from ...protocol.reader import READER, reader_for, shape_validator
from ...protocol.scopes import scope_path, scopes_of
from ...protocol.tool import EXPECTS, VALUES, Tool
from ...schema.json import MAX_WRITTEN_DEPTH, copy, is_object
from ...schema.validator import Validator
from ..ground import Ground
from ..job import ERROR, OPENED_BETWEEN_RUNS, Job
from ..script import Script
from .filling import judge_each, judge_else, outside

_FLOW = frozenset({EACH, WHEN, THEN, VALUE, ELSE, EXPECT})


def is_offered(key: str, toolset: Toolset, script: Script) -> bool:
    """Whether an answer may use a key: of those of T16, what its model was offered; a plan may use all of them."""
    return key not in _FLOW or toolset.has_flow or script.is_authored or script.is_concluded


def check_offered(call: Call, toolset: Toolset, script: Script) -> None:
    """Whether a model that has just answered was offered what it has written.

    Raises:
        InvalidParameters: naming what was not.
    """
    for key in call:
        if call[key] is not None and not is_offered(key, toolset, script):
            raise InvalidParameters(f"{key!r} isn't offered here", tool=call.tool or None, path=key)


def admit(
    call: Call,
    ground: Ground,
    node: Node,
    script: Script,
) -> Job:
    """Judge a call by itself and enter what it reads and writes in its node.

    Raises:
        CallError: what is wrong with it, so that nothing of it runs.
    """
    if EXPECT in call:
        return _expectation_job(call, node, script, ground.reading)
    toolset, instances, reading = ground.toolset, ground.journal.instances, ground.reading
    tool = _tool_of(call, toolset, script)
    if tool.is_plain and tool is not VALUES and len(parameters := call.parameters) == len(call) - 1:
        template = _parse(parameters, tool, reading)
        return _plain_job(call, tool, template, node, script, is_latent=toolset.is_latent(tool))
    if script.is_authored and tool is not VALUES:
        tool = _with_additions(tool, call, toolset)
    _check_meta(call, tool, instances)
    _check_choices(call, tool)
    path = _output_path(call, tool)
    job = Job(
        call=call,
        tool=tool,
        template=_parse(_referring_part(call, tool, reading), tool, reading),
        path=path,
        method=_output_method(call, tool),
        scopes=scopes_of(tool, call),
        is_latent=tool is not VALUES and toolset.is_latent(tool),
        node=node,
        script=script,
        is_value=tool is VALUES,
    )
    node.writes, node.instance = written_paths(path), _instance_of(call, tool, instances)
    condition = _parse_condition(call, tool, reading)
    if EACH in call:
        items = _parse(call[EACH], tool, reading, EACH)
        job.batch = judge_each(call, items, job.template, condition, is_latent=job.is_latent)
    if condition is not None and (job.batch is None or job.batch.condition is None):
        job.condition = condition
    if ELSE in call:
        with_error = reading._replace(kinds=_Kinds(reading.kinds))
        job.otherwise = judge_else(call, _parse(call[ELSE], tool, with_error, ELSE))
    job.computes = any(isinstance(expression, Computed) for expression, _ in job.authored)
    _enter_needs(job)
    return job


def _expectation_job(call: Call, node: Node, script: Script, reading: TextBounds) -> Job:
    """An element that says what is expected: a condition, or a value with the shape that it has to have (C16)."""
    node.has_value = False
    if len(call) > 1:
        raise InvalidParameters(ONLY_EXPECT, path=EXPECT)
    value, shape = call[EXPECT], None
    if is_object(value):
        value, shape = _value_and_shape(value)
    else:
        _parse_condition(Call.of({WHEN: value}), EXPECTS, reading, EXPECT)
    template = _parse({EXPECT: value}, EXPECTS, reading)
    job = Job(
        call=call,
        tool=EXPECTS,
        template=template,
        node=node,
        script=script,
        is_value=True,
        shape=shape,
        computes=any(isinstance(expression, Computed) for expression in template.expressions),
    )
    _enter_needs(job)
    return job


def _value_and_shape(value: Mapping[str, Any]) -> tuple[Any, Validator]:
    if set(value) != {"of", "as"}:
        raise InvalidParameters('with a shape it is {"of": reference, "as": shape}', path=EXPECT)
    if not isinstance(value["of"], str) or SIGIL not in value["of"]:
        raise InvalidParameters("it is a reference, such as †calls.0", path=f"{EXPECT}.of")
    return value["of"], shape_validator(value["as"], "", f"{EXPECT}.as")


class _Kinds(Container[str]):
    """The data kinds that exist, and what names the failure in an `_else` (E1)."""

    def __init__(self, kinds: Container[str]) -> None:
        self._kinds = kinds

    def __contains__(self, kind: Any) -> bool:
        return kind == ERROR.kind or kind in self._kinds


def admit_decided(job: Job) -> None:
    """Let a call whose condition is true wait for all that it reads (C10)."""
    job.is_decided = True
    job.node.after = ()
    _enter_needs(job)


def _enter_needs(job: Job) -> None:
    """Note in its node what a call waits for now: first what decides whether it is made, then the rest."""
    node = job.node
    if job.condition is not None and not job.is_decided:
        node.expressions = job.condition.expressions
        return
    node.expressions = job.template.expressions if job.batch is None else tuple(outside(job.batch))
    if not job.is_latent:
        node.scopes = tuple(map(scope_path, job.scopes))


def _tool_of(call: Call, toolset: Toolset, script: Script) -> Tool:
    if VALUE in call:
        if "_tool" in call:
            raise InvalidParameters(
                f"it is a call of a tool or a {VALUE!r}, not both", tool=call.tool or None, path=VALUE
            )
        return VALUES
    if not (name := call.tool):
        raise UnknownTool("a call names its tool in '_tool'; what only computes is in '_value'")
    is_plan = script.is_authored or script.is_concluded  # one may use the reader whatever is offered (T16)
    tool = toolset.find(name, READER if is_plan else None)
    return reader_for(tool, call) if tool is READER else tool


def _with_additions(tool: Tool, call: Call, toolset: Toolset) -> Tool:
    try:
        return toolset.added(tool, call)
    except SchemaError as error:
        raise InvalidParameters(error.message, tool=tool.name, path=error.path) from None


def _plain_job(call: Call, tool: Tool, template: Template, node: Node, script: Script, *, is_latent: bool) -> Job:
    """A call that is a name and parameters, of a tool that says no more: there is nothing else to judge."""
    node.expressions = template.expressions
    return Job(
        call=call,
        tool=tool,
        template=template,
        is_latent=is_latent,
        node=node,
        script=script,
        is_final=template.is_flat,
        computes=any(isinstance(expression, Computed) for expression in template.expressions),
    )


def _check_meta(call: Call, tool: Tool, instances: Sequence[str]) -> None:
    for key, value in call.items():
        if not key.startswith("_"):
            if tool is VALUES:
                raise InvalidParameters(f"what only computes takes no {key!r}", path=key)
            continue
        if key in _JUDGED_ELSEWHERE:
            continue
        if key not in META and key not in tool.meta:
            raise InvalidParameters(_unknown_meta(key), tool=tool.name, path=key)
        if key == "_instance":
            _check_instance(value, tool, instances)
        _check_declared(key, value, tool)
    if tool.is_fixed("_outputPath") and call.get("_outputPath", tool.fixed("_outputPath")) != tool.fixed("_outputPath"):
        raise ScopeDenied(
            f"its output path is fixed to {tool.fixed('_outputPath')}", tool=tool.name, path="_outputPath"
        )


def _unknown_meta(key: str) -> str:
    near = get_close_matches(key[:60], [*META, EACH, WHEN, ELSE, VALUE, EXPECT], 1, 0.5)
    return f"{clip(key, 40)!r} is not a meta-property" + (f"; did you mean {near[0]!r}?" if near else "")


_JUDGED_ELSEWHERE = {"_tool", "_output", "_outputPath", WITH, EACH, WHEN, ELSE, VALUE}


def _check_instance(value: Any, tool: Tool, instances: Sequence[str]) -> None:
    """Whether a call may be for this instance: one that its tool names, else one of the context's (I1, I5)."""
    if not isinstance(value, str):
        raise InvalidParameters(f"an instance is named by a text, not {value!r}", tool=tool.name, path="_instance")
    if value not in instances:
        names = ", ".join(instances) or "none"
        whose = ", which its tool names" if tool.instances else ""
        raise InvalidParameters(
            f"there is no instance {value!r}{whose}; there are: {names}", tool=tool.name, path="_instance"
        )


def _instance_of(call: Call, tool: Tool, instances: Sequence[str]) -> str | None:
    """The instance that a call is for: the one that it names, which was judged, or the only one of its tool (I5)."""
    if call.instance is not None or not tool.instances:
        return call.instance
    if len(tool.instances) > 1:
        names = ", ".join(tool.instances)
        raise InvalidParameters(f"it is for one of {names}: choose in '_instance'", tool=tool.name, path="_instance")
    (instance,) = tool.instances
    _check_instance(instance, tool, instances)
    return instance


def _check_choices(call: Call, tool: Tool) -> None:
    for key, several in (("_delegate", "delegates"), ("_activity", "Activities")):
        if tool.choices(key) is not None and not tool.is_fixed(key) and key not in call:
            raise InvalidParameters(f"it has several {several}: choose one in {key!r}", tool=tool.name, path=key)


def _check_declared(key: str, value: Any, tool: Tool) -> None:
    if key in {"_reasoningForCall", "_scopes"}:
        return
    if key not in tool.meta and key in {"_delegate", "_activity"}:
        raise ScopeDenied(f"{key!r} is the tool's to say, and it says none", tool=tool.name, path=key)
    if key == "_delegate" and tool.is_fixed(key) and value != tool.fixed(key):
        # Where it leads isn't told: the address may hold what only its author should know.
        raise InvalidParameters("it is fixed by the tool: leave it out", tool=tool.name, path=key)
    if (complaint := tool.complaint(key, value)) is not None:
        raise InvalidParameters(complaint, tool=tool.name, path=key)


def _output_path(call: Call, tool: Tool) -> Expression | None:
    if tool.output_path is not None:
        return tool.output_path
    text = call.get("_outputPath")
    if text is None:
        return None
    if not isinstance(text, str) or not is_expression(text):
        raise InvalidParameters(f"an output path begins with †, not {text!r}", tool=tool.name, path="_outputPath")
    try:
        path = parse(text)
    except ReferenceSyntax as error:
        raise InvalidParameters(str(error), tool=tool.name, path="_outputPath") from None
    if (complaint := tool.complaint("_outputPath", text)) is not None:
        raise InvalidParameters(complaint, tool=tool.name, path="_outputPath")
    _check_writable(path, tool)
    return path


def announced_writes(call: Call, toolset: Toolset) -> tuple[Reference, ...]:
    """The paths that a call says it is to write, whatever else is wrong with it; none where that can't be read."""
    tool = toolset.tools.get(str(call.get("_tool")))
    path, text = None if tool is None else tool.output_path, call.get("_outputPath")
    try:
        return written_paths(parse(text) if path is None and isinstance(text, str) else path)
    except ReferenceSyntax:
        return ()


def _check_writable(path: Expression, tool: Tool) -> None:
    for reference in written_paths(path):
        if len(reference.path) >= MAX_WRITTEN_DEPTH:
            raise InvalidParameters(
                f"a path leads at most {MAX_WRITTEN_DEPTH - 1} deep, not {len(reference.path)}",
                tool=tool.name,
                path="_outputPath",
            )
        if reference.kind in RESERVED_KINDS:
            raise InvalidParameters(
                f"†{reference.kind} can't be written: it is not a kind of data", tool=tool.name, path="_outputPath"
            )
        if OPENED_BETWEEN_RUNS.covers(reference):
            raise ScopeDenied(f"{reference} is a gate: a call can't open it", tool=tool.name, path="_outputPath")
    if isinstance(path, First) and any(isinstance(option, Each) for option in path.options):
        raise InvalidParameters("an alternative is one path", tool=tool.name, path="_outputPath")


def _output_method(call: Call, tool: Tool) -> OutputMethod:
    method = call.get("_outputMethod") or tool.fixed("_outputMethod") or "set"
    if method not in METHODS:
        raise InvalidParameters(f"{method!r} is not one of {', '.join(METHODS)}", tool=tool.name, path="_outputMethod")
    return method


def _parse_condition(call: Call, tool: Tool, reading: TextBounds, path: str = WHEN) -> Template | None:
    """What decides whether a call is made: a reference or an expression, or true or false (C10)."""
    if WHEN not in call:
        return None
    condition = _parse(call[WHEN], tool, reading, path)
    if not isinstance(call[WHEN], bool) and not (isinstance(call[WHEN], str) and condition.expressions):
        raise InvalidParameters(
            'a condition is an expression such as "{†calls.0.total > 10}", or a reference to true or false',
            tool=tool.name,
            path=path,
        )
    return condition


def _parse(value: Any, tool: Tool, reading: TextBounds, path: str | None = None) -> Template:
    try:
        return template(value, reading)
    except ReferenceSyntax as error:
        if path in (WHEN, EACH, EXPECT) and isinstance(value, str) and "{" not in value:
            raise InvalidParameters(
                f"an expression stands in braces: {{{clip(value)}}}", tool=tool.name, path=path
            ) from None
        where = ".".join(part for part in (path, error.at) if part)
        raise UnresolvedReference(error.reason, tool=tool.name, path=where or None) from None


def _referring_part(call: Call, tool: Tool, reading: TextBounds) -> dict[str, Any]:
    """What of a call may refer: its parameters, or the value that it only computes."""
    return {VALUE: call[VALUE]} if tool is VALUES else _with_references(call, tool, reading)


def _with_references(call: Call, tool: Tool, reading: TextBounds) -> dict[str, Any]:
    """The parameters with the references that stand beside them in their places (T9)."""
    references: Any = call.get(WITH)
    if references is None:
        return call.parameters
    if not is_object(references):
        raise InvalidParameters("it maps parameter paths to references", tool=tool.name, path=WITH)
    parameters, reading = Fold(copy(call.parameters)), TextBounds(allowance=reading.allowance)
    for path, reference in references.items():
        if not isinstance(reference, str) or not _parse(reference, tool, reading, f"{WITH}.{path}").expressions:
            raise InvalidParameters(f"{reference!r} is not a reference", tool=tool.name, path=f"{WITH}.{path}")
        try:
            parameters.write("set", _parameter_path(path, tool), reference)
        except UnfitWrite as error:
            raise InvalidParameters(str(error), tool=tool.name, path=f"{WITH}.{path}") from None
    return parameters.read()


def _parameter_path(path: str, tool: Tool) -> Path:
    try:
        reference, end = scan_reference(f"†parameters.{path}", 0)
    except ReferenceSyntax as error:
        raise UnresolvedReference(str(error), tool=tool.name, path=WITH) from None
    if end != len(path) + len("†parameters."):
        raise InvalidParameters(f"{path!r} is not the path of a parameter", tool=tool.name, path=WITH)
    return reference.path
