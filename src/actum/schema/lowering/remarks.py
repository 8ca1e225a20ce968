"""What a lowering reports: notes, problems, and the words that replace an assertion in a description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..json import JsonObject, encode
from .definitions import judges
from .scalars import REFERENCE_WORDS

_LONGEST_WORD = 80

_STRUCTURE = frozenset(
    {"type", "properties", "required", "additionalProperties", "patternProperties", "items", "prefixItems"}
    | {"additionalItems", "$ref", "anyOf", "oneOf"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What lowering changed at a path of the composed schema, and what is therefore checked locally."""

    path: str
    change: str


class Remarks:
    """Collects notes (values are still judged afterwards) and problems (the model could write less than is allowed)."""

    def __init__(self) -> None:
        self._notes: dict[Note, None] = {}
        self._problems: dict[str, None] = {}

    @property
    def notes(self) -> tuple[Note, ...]:
        """All notes, each once, in the order of the schema."""
        return tuple(self._notes)

    @property
    def problems(self) -> tuple[str, ...]:
        """All problems, each once, in the order of the schema."""
        return tuple(self._problems)

    def note(self, path: str, change: str) -> None:
        """Record what was changed at a path."""
        self._notes[Note(path=path, change=change)] = None

    def problem(self, path: str, reason: str) -> None:
        """Record why what is at a path can't be sent."""
        self._problems[f"{path}: {reason}"] = None

    def head(self, kind: str | None, schema: JsonObject, path: str, whole: frozenset[str] = frozenset()) -> JsonObject:
        """The beginning of a node: its type, and its description with what only the local check holds in words.

        `whole` are the keywords that the node says in full.
        """
        words: list[str] = []
        for key, value in schema.items():
            if key == "default":
                self.note(path, "`default` moved to the description")
            elif not judges(key) or key in whole or key in _STRUCTURE:
                continue
            else:
                self.note(path, f"`{key}` moved to the local check")
            words.append(_word(key, value))
        remark = ", ".join(word for word in words if word)
        text = " ".join(part for part in (schema.get("description"), f"({remark})" if remark else "") if part)
        return ({} if kind is None else {"type": kind}) | ({"description": text} if text else {})


def _word(key: str, value: Any) -> str:
    if key == "pattern" and value in REFERENCE_WORDS:
        return REFERENCE_WORDS[value]
    if (
        (key == "default" and not value)
        or isinstance(value, dict | list)
        or (isinstance(value, int | float) and abs(value) >= 2**53 - 1)
    ):
        return ""
    text = encode(value)
    return f"{key}: {text}" if len(text) <= _LONGEST_WORD else ""
