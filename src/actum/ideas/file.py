"""An Idea as text: `{meta?, config?, context, schema, solution?}` in JSON, or YAML on reading (X1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from ..dataflow.dollars import as_it_is
from ..errors import IdeaError, MessageError, SchemaError
from ..protocol.context import Context
from ..protocol.message import BY, DATA_KINDS
from ..schema.gathering import opened
from ..schema.infer import shape_of
from ..schema.json import JsonObject, decode, is_list, is_object
from ..schema.validator import Validator
from .layout import Positions, laid_out, parse_yaml

RUN = "run"
"""The member of an Idea's `meta` in which a run keeps what it knows of itself."""
_KEYS = ("meta", "config", "context", "schema", "solution")


def answer_of(solution: Any) -> JsonObject | None:
    """A saved solution as an answer; a bare list of calls, as the documents have it, is an answer without an output.

    Raises:
        TypeError: it is neither.
    """
    if is_list(solution):
        return {"calls": solution}
    if not (solution is None or is_object(solution)):
        raise TypeError("'solution' must be an answer, or the list of its calls")
    return solution


def plan_of(solution: JsonObject | None, meta: JsonObject | None = None) -> list[JsonObject]:
    """A saved answer as a plan, which runs if there is no model to ask (P3)."""
    if solution is None:
        return []
    plan: JsonObject = {"type": "plan", "plan": solution.get("calls") or []}
    if RUN in (meta or {}):  # a run has written down what its model answered (S9)
        plan[BY] = "model"
    return [as_it_is(plan if solution.get("output") is None else {**plan, "output": solution["output"]})]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaText:
    """The parts of an Idea; its messages have been judged."""

    context: list[JsonObject]
    schema: Any = None
    meta: JsonObject = field(default_factory=dict[str, Any])
    config: JsonObject = field(default_factory=dict[str, Any])
    solution: JsonObject | None = None

    def to_dict(self) -> JsonObject:
        """The Idea as JSON, without the parts that are empty."""
        parts: JsonObject = {"meta": self.meta, "config": self.config}
        own: JsonObject = {key: value for key, value in parts.items() if value}
        own |= {"context": self.context} | ({} if self.schema is None else {"schema": self.schema})
        return own if self.solution is None else {**own, "solution": self.solution}


def read_idea(text: str, name: str) -> IdeaText:
    """Read an Idea; `name` is what it is called in messages.

    Raises:
        IdeaError: saying where: line and column for what is not JSON, the key for what is not an Idea.
    """
    return _judged(parse_text(text, name), _Complaints(text, name))


def idea_of(value: object, kinds: Collection[str] = (), data_kinds: Collection[str] = DATA_KINDS) -> IdeaText:
    """An Idea given as a dict: judged as one in a file is, but that its schema may be a type, and be all of it.

    `kinds` and `data_kinds` are the types and kinds of messages that are registered.

    Raises:
        IdeaError: naming the key for what is not an Idea.
    """
    if not isinstance(value, Mapping):
        return _judged(value, _complaint)
    whole: JsonObject = {**cast("Mapping[str, Any]", value)}
    if "schema" in whole:
        whole.setdefault("context", [])
    if isinstance(messages := whole.get("context"), Sequence) and not isinstance(messages, str):
        whole["context"] = [*cast("Sequence[Any]", messages)]
    schema = whole.get("schema")
    if schema is None or isinstance(schema, dict | list | str | int | float):
        return _judged({**whole, "schema": True if schema is None else schema}, _complaint, kinds, data_kinds)
    try:
        shape_of(schema)
    except SchemaError as error:
        raise _complaint(("schema",), error.message) from error
    return replace(_judged({**whole, "schema": True}, _complaint, kinds, data_kinds), schema=schema)


def _judged(
    value: Any, wrong: _Complaint, kinds: Collection[str] = (), data_kinds: Collection[str] = DATA_KINDS
) -> IdeaText:
    if not is_object(value):
        raise wrong((), "an Idea must be a JSON object")
    if unknown := [key for key in value if key not in _KEYS and not key.startswith("$")]:
        raise wrong((unknown[0],), f"an Idea has no {unknown[0]!r}; it has {', '.join(_KEYS)}")
    if not isinstance(value.get("context"), list):
        raise wrong(("context",), "'context' must be a list of messages")
    if texts := [index for index, message in enumerate(value["context"]) if isinstance(message, str)]:
        raise wrong(("context", texts[0]), 'a message must be an object: {"type": "text", "text": …}', index=texts[0])
    for key in ("meta", "config"):
        if not isinstance(value.get(key, {}), dict):
            raise wrong((key,), f"{key!r} must be an object")
    try:
        solution = answer_of(value.get("solution"))
    except TypeError as error:
        raise wrong(("solution",), str(error)) from None
    try:
        context = Context(value["context"], kinds=kinds, data_kinds=data_kinds)
        Validator(opened(value.get("schema", True)))
    except MessageError as error:
        path = ("context",) if error.index is None else ("context", error.index)
        raise wrong(path, error.message, index=error.index) from error
    except SchemaError as error:
        raise wrong(("schema", *(error.path.split(".") if error.path else ())), error.message) from error
    try:
        Context(plan_of(solution))
    except MessageError as error:
        raise wrong(("solution", "calls"), f"'solution' is not an answer: {error.message}") from error
    own = {key: value[key] for key in ("meta", "config", "schema") if key in value}
    return IdeaText(context=context.messages, solution=solution, **own)


class _Complaint(Protocol):
    """What says where of an Idea something is wrong."""

    def __call__(self, path: Sequence[str | int], message: str, *, index: int | None = None) -> IdeaError: ...


def _complaint(path: Sequence[str | int], message: str, *, index: int | None = None) -> IdeaError:
    """What is wrong with an Idea that has no text."""
    error = IdeaError(message)
    error.path, error.index = ".".join(map(str, path)) or None, index
    return error


_LONGEST_SEARCHED = 2_000_000


@dataclass(frozen=True, slots=True)
class _Complaints:
    """What is wrong with a text, and where: by line and column for JSON."""

    text: str
    name: str

    def __call__(self, path: Sequence[str | int], message: str, *, index: int | None = None) -> IdeaError:
        where = self.name
        if not self.name.endswith((".yaml", ".yml")) and len(self.text) <= _LONGEST_SEARCHED:
            line, column = Positions(self.text.removeprefix("\ufeff")).of(path)
            where = f"{self.name}:{line}:{column}"
        return _complaint(path, f"{where}: {message}", index=index)  # its message says where already


def write_idea(idea: IdeaText) -> str:
    """The text of an Idea, the same for the same Idea."""
    return laid_out(idea.to_dict())


def parse_text(text: str, name: str) -> Any:
    """The value of a text in the format that its name says, JSON or YAML, not judged as an Idea.

    Raises:
        IdeaError: for what is neither, naming line and column if they are known.
    """
    is_yaml = name.endswith((".yaml", ".yml"))
    try:
        return parse_yaml(text) if is_yaml else decode(text.removeprefix("\ufeff"))
    except ValueError as error:  # NotJson, NotYaml, and what YAML's numbers raise
        raise IdeaError(f"{name}: {'' if is_yaml else 'not JSON: '}{error}") from None
    except RecursionError:
        raise IdeaError(f"{name}: nests too deeply") from None


_MARKS = ("_call", "_of")
_LEFT = frozenset({"approval", "error", "output", "suspended"})


def identified(messages: Iterable[JsonObject], meta: JsonObject) -> list[JsonObject]:
    """The messages of an Idea with its `meta` among them.

    A `meta` message of theirs decides, unless it is an older version of the same identity. What a run has left is
    given back as it is: messages are counted in it.
    """
    own = list(messages)
    identity = {key: value for key, value in meta.items() if key != RUN}
    if not identity:
        return own
    said = [index for index, message in enumerate(own) if message.get("type") == "meta"]
    for index in said:
        if _is_same(own[index]["meta"], identity):
            own[index] = {**own[index], "meta": identity}
    if said or any(_is_left(message) for message in own):
        return own
    return [{"type": "meta", "meta": identity}, *own]


def _is_same(said: object, identity: JsonObject) -> bool:
    if not is_object(said) or "path" not in identity:
        return False
    return all(said.get(key) == identity.get(key) for key in ("domain", "path"))


def _is_left(message: JsonObject) -> bool:
    return message.get("type") in _LEFT or any(mark in message for mark in _MARKS)
