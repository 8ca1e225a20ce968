"""What is wrong with an eval and its files, told all at once and before anything is asked (evals.md, 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import EvalError
from ..schema.json import Json, JsonObject, is_object
from ..schema.quoting import instead, printable
from ..schema.validator import Validator

Member: TypeAlias = tuple[JsonObject | None, str]
"""The schema of a member, None where it is judged elsewhere, and what it is, in words."""
Form: TypeAlias = Mapping[str, Member]
"""What an object may say, by key."""
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
    """Notes what is wrong at one place of a file; `at` is the same for a place within."""

    where: str
    noted: list[str] = field(default_factory=list[str])

    def __call__(self, what: str) -> None:
        """Note one thing that is wrong here."""
        self.noted.append(f"{self.where}: {what}")

    def unknown(self, kind: str, name: str, names: Iterable[str]) -> None:
        """Note that there is no key, or tool, of this name, and what may have been meant."""
        meant = instead(name, names).replace("'", '"') if names else "there are none"
        self(f'there is no {kind} "{name}"; {meant}')

    def keys(self, told: Mapping[str, Any], known: Iterable[str], kind: str = "key") -> None:
        """Note each key that isn't one of these."""
        for key in [one for one in told if one not in known]:
            self.unknown(kind, key, known)

    def form(self, told: Json, form: Form, words: str) -> JsonObject:
        """The members that fit a form; each that doesn't is noted, as is each key that the form doesn't know.

        `words` say what the whole is, where that isn't an object.
        """
        if not is_object(told):
            self(words)
            return {}
        self.keys(told, form)
        fit: JsonObject = {}
        for key, (schema, what) in form.items():
            if key in told and (schema is None or _fits(told[key], schema)):
                fit[key] = told[key]
            elif key in told:
                self.at(key)(what)
        return fit

    def at(self, key: str | int) -> Complaint:
        """The place of a member, or of an item."""
        if isinstance(key, int):
            return Complaint(f"{self.where}[{key}]", self.noted)
        return Complaint(f"{self.where}{'.' if ': ' in self.where else ': '}{key}", self.noted)

    def check(self) -> None:
        """Go on only where nothing was wrong.

        Raises:
            EvalError: naming all that was, a line each.
        """
        if self.noted:
            raise EvalError([printable(line) for line in self.noted])


def _fits(value: Json, schema: JsonObject) -> bool:
    is_like_whole = schema.get("type") == "integer" and isinstance(value, float)  # as 2.0: nothing counts with that
    return not is_like_whole and Validator(schema).accepts(value)
