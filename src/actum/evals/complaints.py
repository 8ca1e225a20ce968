"""Problems of an eval and its files, collected and raised together before any model is asked (evals.md, 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import EvalError
from ..schema.json import Json, JsonObject, is_object
from ..schema.quoting import instead, printable
from ..schema.validator import Validator

Member: TypeAlias = tuple[JsonObject | None, str]
"""The schema of a member, None if it is judged elsewhere, and what is required, in words."""
Form: TypeAlias = Mapping[str, Member]
"""The members that an object may have, by key."""
ANY: Member = (None, "")
WORDS: Member = ({"type": "string"}, "this is a text")
AMOUNT: Member = ({"type": "number", "minimum": 0}, "this is a number that is not negative")
SHARE: Member = ({"type": "number", "minimum": 0, "maximum": 1}, "this is a share, such as 0.8")
COUNT: Member = ({"type": "integer", "minimum": 0}, "this is a whole number from 0 on")
FROM_ONE: Member = ({"type": "integer", "minimum": 1}, "this is a whole number from 1 on")
RECORDED = "recorded"
RECORDED_ALONE: Member = ({"const": RECORDED}, f'this is "{RECORDED}": what the runs came to')
INPUT_ALONE: Member = ({"const": "input"}, 'this is "input": of the runs their input alone')


@dataclass(frozen=True, slots=True)
class Complaint:
    """Notes problems at one place of a file; `at` gives a `Complaint` for a place within."""

    where: str
    noted: list[str] = field(default_factory=list[str])

    def __call__(self, problem: str) -> None:
        """Note a problem here."""
        self.noted.append(f"{self.where}: {problem}")

    def unknown(self, kind: str, name: str, names: Iterable[str]) -> None:
        """Note that no key, or tool, has this name, and which may have been meant."""
        meant = instead(name, names).replace("'", '"') if names else "there are none"
        self(f'there is no {kind} "{name}"; {meant}')

    def keys(self, members: Mapping[str, Any], names: Iterable[str], kind: str = "key") -> None:
        """Note each key that isn't one of these names."""
        for key in members:
            if key not in names:
                self.unknown(kind, key, names)

    def form(self, value: Json, form: Form, words: str) -> JsonObject:
        """The members that fit a form; each other member is noted, as is each key that the form doesn't have.

        `words` say what is required, if the value isn't an object.
        """
        if not is_object(value):
            self(words)
            return {}
        self.keys(value, form)
        fit: JsonObject = {}
        for key, (schema, requirement) in form.items():
            if key in value and (schema is None or _fits(value[key], schema)):
                fit[key] = value[key]
            elif key in value:
                self.at(key)(requirement)
        return fit

    def at(self, key: str | int) -> Complaint:
        """The place of a member, or of an item."""
        if isinstance(key, int):
            return Complaint(f"{self.where}[{key}]", self.noted)
        return Complaint(f"{self.where}{'.' if ': ' in self.where else ': '}{key}", self.noted)

    def check(self) -> None:
        """Raise if there is any problem.

        Raises:
            EvalError: naming all problems, a line each.
        """
        if self.noted:
            raise EvalError([printable(line) for line in self.noted])


def _fits(value: Json, schema: JsonObject) -> bool:
    is_float = schema.get("type") == "integer" and isinstance(value, float)  # 2.0 is no count
    return not is_float and Validator(schema).accepts(value)
