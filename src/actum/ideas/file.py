"""An Idea as text: `{meta?, config?, context, schema, solution?}` in JSON, or YAML on reading (X1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ..dataflow.dollars import as_it_is
from ..errors import IdeaError, MessageError, SchemaError
from ..protocol.context import Context
from ..protocol.message import BY, DATA_KINDS
from ..schema.gathering import without_links
from ..schema.infer import shape_of
from ..schema.json import JsonObject, decode, is_list, is_object
from ..schema.validator import Validator
from .layout import Positions, laid_out, parse_yaml

RUN = "run"
"""The member of an Idea's `meta` in which a run keeps what it knows of itself."""
_KEYS = ("meta", "config", "context", "schema", "solution")
_LONGEST_SEARCHED = 2_000_000
"""A longer text isn't searched for the line and the column of what is wrong with it."""


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
    if RUN in (meta or {}):  # a run has noted its model's answer (S9)
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
        idea: JsonObject = {key: value for key, value in parts.items() if value}
        idea |= {"context": self.context} | ({} if self.schema is None else {"schema": self.schema})
        return idea if self.solution is None else {**idea, "solution": self.solution}


def read_idea(text: str, name: str) -> IdeaText:
    """Read an Idea; `name` is what it is called in messages.

    Raises:
        IdeaError: saying where: line and column for what is not JSON, the key for what is not an Idea.
    """
    value = parse_text(text, name)
    try:
        return _judged(value)
    except _Malformed as error:
        where = name
        if not name.endswith((".yaml", ".yml")) and len(text) <= _LONGEST_SEARCHED:
            line, column = Positions(text.removeprefix("\ufeff")).of(error.at)
            where = f"{name}:{line}:{column}"
        raise _Malformed(error.at, f"{where}: {error.message}", error.index) from error.__cause__


def idea_of(value: object, kinds: Collection[str] = (), data_kinds: Collection[str] = DATA_KINDS) -> IdeaText:
    """An Idea given as a dict: judged like a file, but its schema may be a type, and its only member.

    `kinds` and `data_kinds` are the types and kinds of messages that are registered.

    Raises:
        IdeaError: naming the key for what is not an Idea.
    """
    if not isinstance(value, Mapping):
        return _judged(value)
    whole: JsonObject = {**cast("Mapping[str, Any]", value)}
    if "schema" in whole:
        whole.setdefault("context", [])
    if isinstance(messages := whole.get("context"), Sequence) and not isinstance(messages, str):
        whole["context"] = [*cast("Sequence[Any]", messages)]
    schema = whole.get("schema")
    if schema is None or isinstance(schema, dict | list | str | int | float):
        return _judged({**whole, "schema": True if schema is None else schema}, kinds, data_kinds)
    try:
        shape_of(schema)
    except SchemaError as error:
        raise _Malformed(("schema",), error.message) from error
    return replace(_judged({**whole, "schema": True}, kinds, data_kinds), schema=schema)


def malformed(value: JsonObject) -> Iterator[tuple[str, str]]:
    """The members of an object that an Idea doesn't have, or has with another type; each with what is wrong."""
    for key in value:
        if key not in _KEYS and not key.startswith("$"):
            yield key, f"an Idea has no {key!r}; it has {', '.join(_KEYS)}"
    if not is_list(value.get("context")):
        yield "context", "'context' must be a list of messages"
    for key in ("meta", "config"):
        if not is_object(value.get(key, {})):
            yield key, f"{key!r} must be an object"
    try:
        answer_of(value.get("solution"))
    except TypeError as error:
        yield "solution", str(error)


def _judged(value: Any, kinds: Collection[str] = (), data_kinds: Collection[str] = DATA_KINDS) -> IdeaText:
    if not is_object(value):
        raise _Malformed((), "an Idea must be a JSON object")
    if (wrong := next(malformed(value), None)) is not None:
        raise _Malformed(wrong[:1], wrong[1])
    for index, message in enumerate(value["context"]):
        if isinstance(message, str):
            raise _Malformed(("context", index), 'a message must be an object: {"type": "text", "text": …}', index)
    solution = answer_of(value.get("solution"))
    try:
        context = Context(value["context"], kinds=kinds, data_kinds=data_kinds)
        Validator(without_links(value.get("schema", True)))
    except MessageError as error:
        path = ("context",) if error.index is None else ("context", error.index)
        raise _Malformed(path, error.message, error.index) from error
    except SchemaError as error:
        raise _Malformed(("schema", *(error.path.split(".") if error.path else ())), error.message) from error
    try:
        Context(plan_of(solution))
    except MessageError as error:
        raise _Malformed(("solution", "calls"), f"'solution' is not an answer: {error.message}") from error
    parts = {key: value[key] for key in ("meta", "config", "schema") if key in value}
    return IdeaText(context=context.messages, solution=solution, **parts)


class _Malformed(IdeaError):
    """What is wrong with an Idea, at a path in it."""

    def __init__(self, at: Sequence[str | int], message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.at, self.path, self.index = at, ".".join(map(str, at)) or None, index  # the message says where already


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

    A `meta` message among them counts, unless it is an older version of the same identity. Messages that a run has
    left are returned as they are, since they are counted.
    """
    identified = list(messages)
    identity = {key: value for key, value in meta.items() if key != RUN}
    if not identity:
        return identified
    at_meta = [index for index, message in enumerate(identified) if message.get("type") == "meta"]
    for index in at_meta:
        if _is_same(identified[index]["meta"], identity):
            identified[index] = {**identified[index], "meta": identity}
    if at_meta or any(_is_left(message) for message in identified):
        return identified
    return [{"type": "meta", "meta": identity}, *identified]


def _is_same(meta: object, identity: JsonObject) -> bool:
    if not is_object(meta) or "path" not in identity:
        return False
    return all(meta.get(key) == identity.get(key) for key in ("domain", "path"))


def _is_left(message: JsonObject) -> bool:
    return message.get("type") in _LEFT or any(mark in message for mark in _MARKS)
