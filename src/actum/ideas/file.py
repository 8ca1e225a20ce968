"""An Idea as text: `{meta?, config?, context, schema, solution?}` in JSON, or YAML on reading (X1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import IdeaError, MessageError, SchemaError
from ..protocol.context import Context
from ..protocol.message import BY
from ..schema.json import MAX_DEPTH, JsonObject, decode, is_list, is_object, plain
from ..schema.links import opened
from ..schema.validator import Validator
from .layout import laid_out
from .positions import Positions

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
    return [plan if solution.get("output") is None else {**plan, "output": solution["output"]}]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaText:
    """The parts of an Idea as they were read."""

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
    parsed = parse_text(text, name)
    wrong = _Complaints(text, name)
    if not is_object(parsed):
        raise wrong((), "an Idea must be a JSON object")
    value = parsed
    if unknown := [key for key in value if key not in _KEYS and not key.startswith("$")]:
        raise wrong((unknown[0],), f"an Idea has no {unknown[0]!r}; it has {', '.join(_KEYS)}")
    if not isinstance(value.get("context"), list):
        raise wrong(("context",), "'context' must be a list of messages")
    for key in ("meta", "config"):
        if not isinstance(value.get(key, {}), dict):
            raise wrong((key,), f"{key!r} must be an object")
    try:
        solution = answer_of(value.get("solution"))
    except TypeError as error:
        raise wrong(("solution",), str(error)) from None
    try:
        Context(value["context"])
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
    return IdeaText(solution=solution, **{key: value[key] for key in _KEYS if key in value and key != "solution"})


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
        error = IdeaError(f"{where}: {message}")
        error.path, error.index = ".".join(map(str, path)) or None, index  # its message says where already
        return error


def write_idea(idea: IdeaText) -> str:
    """The text of an Idea, the same for the same Idea."""
    return laid_out(idea.to_dict())


def parse_text(text: str, name: str, *, has_only_texts: bool = False) -> Any:
    """The value of a text in the format that its name says, JSON or YAML, not judged as an Idea.

    `has_only_texts`: what YAML takes for a date, or for a key that is a number, is a text, as where JSON is meant.

    Raises:
        IdeaError: for what is neither, naming line and column if they are known.
    """
    try:
        if name.endswith((".yaml", ".yml")):
            return plain(_yaml(text, name, has_only_texts=has_only_texts))
        return decode(text.removeprefix("\ufeff"))
    except ValueError as error:  # NotJson, and what YAML's dates and numbers raise
        raise IdeaError(f"{name}: {error}") from None
    except RecursionError:
        raise IdeaError(f"{name}: nests too deeply") from None


def _yaml(text: str, name: str, *, has_only_texts: bool) -> object:
    try:
        import yaml
    except ImportError:
        raise IdeaError(f"{name}: reading YAML needs PyYAML: pip install 'actum[yaml]'") from None
    try:
        _check_tokens(cast("Iterable[Any]", yaml.scan(text)), name)  # pyright: ignore[reportUnknownMemberType] -- stubs leave it open
        loader: Any = yaml.SafeLoader(text)
        node: Any = loader.get_single_node()
        _check_keys(node, name)
        if has_only_texts:
            _retag(node)
        return None if node is None else _constructed(loader, node, name)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise IdeaError(f"{name}: {getattr(error, 'problem', None) or 'not YAML'}{where}") from None


_OPENING = ("[", "{", "<block sequence start>", "<block mapping start>")
_CLOSING = ("]", "}", "<block end>")


def _check_tokens(tokens: Iterable[Any], name: str) -> None:
    """Refuse what would make a small file huge, which JSON can't, and what nests so deep that reading is quadratic."""
    depth = 0
    for token in tokens:
        if token.id == "<alias>":
            raise IdeaError(f"{name}: aliases (*name) are not accepted in an Idea")
        depth += (token.id in _OPENING) - (token.id in _CLOSING)
        if depth > MAX_DEPTH:
            raise IdeaError(f"{name}: nests deeper than {MAX_DEPTH}")


def _constructed(loader: Any, node: Any, name: str) -> object:
    """The values of a document; PyYAML's constructors take for granted that a value fits the tag that it is given."""
    try:
        return loader.construct_document(node)
    except (LookupError, AttributeError, TypeError):
        raise IdeaError(f"{name}: a value doesn't fit the tag (!!…) that it has") from None


_TEXT, _DATE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:timestamp"


def _retag(node: Any) -> None:
    """Make texts of dates, and of keys whatever they look like."""
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        kind = getattr(one, "id", None)
        if kind == "scalar" and one.tag == _DATE:
            one.tag = _TEXT
        elif kind == "sequence":
            waiting += one.value
        elif kind == "mapping":
            for key, member in one.value:
                if key.id == "scalar":
                    key.tag = _TEXT
                waiting.append(member)


def _check_keys(node: Any, name: str) -> None:
    """Refuse a key that occurs twice, of which YAML would silently take the last."""
    kind = getattr(node, "id", None)
    if kind == "sequence":
        for item in node.value:
            _check_keys(item, name)
    if kind != "mapping":
        return
    seen: set[str] = set()
    for key, member in node.value:
        if key.id == "scalar" and key.value in seen:
            where = f"at line {key.start_mark.line + 1}, column {key.start_mark.column + 1}"
            raise IdeaError(f"{name}: the key {key.value!r} occurs twice in one object {where}")
        seen.add(str(key.value))
        _check_keys(member, name)
