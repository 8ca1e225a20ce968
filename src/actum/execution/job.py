"""A call on its way: what was authored, judged as far as that goes before its references resolve (C2, T8, O3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..dataflow.expression import Each, Expression, First, is_expression, parse
from ..dataflow.fold import METHODS, Fold, Misfit, OutputMethod
from ..dataflow.graph import CALLS, Node, written_paths
from ..dataflow.reference import Path, Reference, ReferenceSyntax, scan_reference
from ..dataflow.template import Template, template
from ..errors import InvalidParameters, ScopeDenied, UnknownTool, UnresolvedReference
from ..generation.offer import Toolset
from ..protocol.call import EACH, META, WITH, Call
from ..protocol.scopes import scopes_of
from ..protocol.tool import Tool
from ..schema.json import JsonObject, copy
from .each import Batch, batch, outside
from .journal import GATES

OPENED_BETWEEN_RUNS = Reference("state", (GATES,))
"""Where gates stand: no call may choose to write there (C7)."""


@dataclass(slots=True, eq=False)
class Job:
    """One call of a run."""

    call: Call
    tool: Tool
    template: Template
    path: Expression | None
    method: OutputMethod
    scopes: Sequence[str]
    is_latent: bool
    node: Node
    is_started: bool = False
    """Whether it is on its way, if only to an approver: a corrected answer doesn't start it again (L3)."""
    has_begun: bool = False
    """Whether it has really run, so that its failure is one of running."""
    is_awaited: bool = False
    """Whether its tick waits for its end."""
    started: int = 0
    """How many calls of the run had finished when it started (O8)."""
    batch: Batch | None = None
    """What it is made of where it is made for every item of a list."""
    parent: Job | None = None
    """The call for all items, where this one is made for one of them."""
    is_final: bool = False
    """Whether it is carried out as it was authored: there is nothing to resolve or to fill in."""
    identity: str = ""
    """What is the same in the same call, once it was asked for (see `identity`)."""
    followers: Sequence[Job] = ()
    """The same call in a corrected answer, which waits for what this one comes to (L3)."""

    @property
    def place(self) -> str:
        """Where it stands in its run: the message of its plan, and its place there."""
        before = self.node.answer.start if self.parent is None else self.parent.place
        return f"{before}.{self.node.index}"

    @property
    def of(self) -> int | None:
        """The number of the call for all items, where this one is made for one of them."""
        return None if self.parent is None else self.parent.node.number

    @property
    def alternatives(self) -> tuple[Reference, ...]:
        """The paths of which one is written; more than one where the output path lists alternatives (O5)."""
        return tuple(written_paths(self.path)) if isinstance(self.path, First) else ()

    @property
    def targets(self) -> tuple[Reference, ...]:
        """The paths that are written when the Activity names none."""
        match self.path:
            case None:
                return ()
            case First(options=options):
                return written_paths(options[0])
            case path:
                return written_paths(path)

    @property
    def has_result(self) -> bool:
        """Whether anything waits for it (C8)."""
        if self.parent is not None:
            return self.parent.has_result
        return self.path is not None or self.tool.output is not None or self.tool.is_delegated


def item_of(job: Job, call: Call, parameters: Template, node: Node) -> Job:
    """The call for one item of a list, of the call for all of them; what it comes to is written by that one."""
    node.instance = job.node.instance
    return Job(
        call=call,
        tool=job.tool,
        template=parameters,
        path=None,
        method="set",
        scopes=job.scopes,
        is_latent=job.is_latent,
        node=node,
        parent=job,
    )


def judge(call: Call, toolset: Toolset, instances: Sequence[str], node: Node) -> Job:
    """Judge a call by itself and enter what it reads and writes in its node.

    Raises:
        CallError: what is wrong with it, so that nothing of it runs.
    """
    if not (name := call.tool):
        raise UnknownTool("a call names its tool in '_tool'")
    tool = toolset.find(name)
    if tool.is_plain and len(parameters := call.parameters) == len(call) - 1:
        return _plain(call, tool, parameters, node, is_latent=toolset.is_latent(tool))
    _check_meta(call, tool, instances)
    _check_choices(call, tool)
    path = _output_path(call, tool)
    job = Job(
        call=call,
        tool=tool,
        template=_template(call, tool),
        path=path,
        method=_method(call, tool),
        scopes=scopes_of(tool, call),
        is_latent=toolset.is_latent(tool),
        node=node,
    )
    node.expressions, node.writes, node.instance = job.template.expressions, written_paths(path), _instance(call, tool)
    if EACH in call:
        job.batch = batch(call, job.template, is_latent=job.is_latent)
        node.expressions = outside(job.batch, job.template)
    return job


def _plain(call: Call, tool: Tool, parameters: JsonObject, node: Node, *, is_latent: bool) -> Job:
    """A call that is a name and parameters, of a tool that says no more: there is nothing else to judge."""
    try:
        own = template(parameters)
    except ReferenceSyntax as error:
        raise UnresolvedReference(str(error), tool=tool.name) from None
    node.expressions = own.expressions
    return Job(
        call=call,
        tool=tool,
        template=own,
        path=None,
        method="set",
        scopes=(),
        is_latent=is_latent,
        node=node,
        is_final=own.is_flat,
    )


def _check_meta(call: Call, tool: Tool, instances: Sequence[str]) -> None:
    for key, value in call.items():
        if not key.startswith("_") or key in {"_tool", "_output", "_outputPath", WITH, EACH}:
            continue
        if key not in META and key not in tool.meta:
            raise InvalidParameters(f"{key!r} is no meta-property", tool=tool.name, path=key)
        if key == "_instance":
            _check_instance(value, tool, instances)
        _check_declared(key, value, tool)
    if tool.is_fixed("_outputPath") and call.get("_outputPath", tool.fixed("_outputPath")) != tool.fixed("_outputPath"):
        raise ScopeDenied(
            f"its output path is fixed to {tool.fixed('_outputPath')}", tool=tool.name, path="_outputPath"
        )


def _check_instance(value: Any, tool: Tool, instances: Sequence[str]) -> None:
    """Whether a call may be for this instance: one that its tool names, else one of the context's (I1, I5)."""
    if not isinstance(value, str):
        raise InvalidParameters(f"an instance is named by a text, not {value!r}", tool=tool.name, path="_instance")
    if not tool.names_instances and value not in instances:
        there = ", ".join(instances) or "none"
        raise InvalidParameters(f"there is no instance {value!r}; there are: {there}", tool=tool.name, path="_instance")


def _instance(call: Call, tool: Tool) -> str | None:
    return call.instance if call.instance is not None else tool.fixed("_instance")


def _check_choices(call: Call, tool: Tool) -> None:
    for key, several in (("_delegate", "delegates"), ("_activity", "Activities")):
        if tool.choices(key) is not None and not tool.is_fixed(key) and key not in call:
            raise InvalidParameters(f"it has several {several}: choose one in {key!r}", tool=tool.name, path=key)


def _check_declared(key: str, value: Any, tool: Tool) -> None:
    if key in {"_reasoningForCall", "_scopes"}:
        return
    if key not in tool.meta and key in {"_delegate", "_activity"}:
        raise ScopeDenied(f"{key!r} is the tool's to say, and it says none", tool=tool.name, path=key)
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


def _check_writable(path: Expression, tool: Tool) -> None:
    for reference in written_paths(path):
        if reference.kind == CALLS:
            raise InvalidParameters("†calls holds results and can't be written", tool=tool.name, path="_outputPath")
        if OPENED_BETWEEN_RUNS.covers(reference):
            raise ScopeDenied(f"{reference} is a gate: a call can't open it", tool=tool.name, path="_outputPath")
    if isinstance(path, First) and any(isinstance(option, Each) for option in path.options):
        raise InvalidParameters("an alternative is one path", tool=tool.name, path="_outputPath")


def _method(call: Call, tool: Tool) -> OutputMethod:
    method = call.get("_outputMethod") or tool.fixed("_outputMethod") or "set"
    if method not in METHODS:
        raise InvalidParameters(f"{method!r} is none of {', '.join(METHODS)}", tool=tool.name, path="_outputMethod")
    return method


def _template(call: Call, tool: Tool) -> Template:
    try:
        return template(_with_references(call, tool))
    except ReferenceSyntax as error:
        raise UnresolvedReference(str(error), tool=tool.name) from None


def _with_references(call: Call, tool: Tool) -> dict[str, Any]:
    """The parameters with the references that stand beside them in their places (T9)."""
    aside: Any = call.get(WITH)
    if aside is None:
        return call.parameters
    if not isinstance(aside, dict):
        raise InvalidParameters("it maps parameter paths to references", tool=tool.name, path=WITH)
    parameters = Fold(copy(call.parameters))
    for place, reference in cast("dict[str, Any]", aside).items():
        if not isinstance(reference, str) or not is_expression(reference):
            raise InvalidParameters(f"{reference!r} is no reference", tool=tool.name, path=f"{WITH}.{place}")
        try:
            parameters.write("set", _parameter_path(place, tool), reference)
        except Misfit as error:
            raise InvalidParameters(str(error), tool=tool.name, path=f"{WITH}.{place}") from None
    return parameters.read()


def _parameter_path(place: str, tool: Tool) -> Path:
    reference, end = scan_reference(f"†parameters.{place}", 0)
    if end != len(place) + len("†parameters."):
        raise InvalidParameters(f"{place!r} is no parameter path", tool=tool.name, path=WITH)
    return reference.path
