"""What is wrong with an eval and its files, told all at once and before anything is asked (evals.md, 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import EvalError
from ..schema.json import Json, JsonObject, is_object
from ..schema.naming import instead
from ..schema.quoting import printable
from ..schema.validator import Validator

Form: TypeAlias = Mapping[str, tuple[Json, str]]
"""What an object may say: of each key the schema of its value, and what it is, in words."""
COUNT: JsonObject = {"type": "integer", "minimum": 0}
AMOUNT: JsonObject = {"type": "number", "minimum": 0}
SHARE: JsonObject = {"type": "number", "minimum": 0, "maximum": 1}
WORDS: JsonObject = {"type": "string"}
ANY = None
"""Whatever it is, it is judged elsewhere."""
RECORDED = "recorded"
RECORDED_ALONE = ({"const": RECORDED}, f'this is "{RECORDED}": what the runs came to')
INPUT_ALONE = ({"const": "input"}, 'this is "input": of the runs their input alone')


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

    def keys(self, told: Mapping[str, Any], known: Iterable[str]) -> None:
        """Note each key that isn't one of these."""
        for key in [one for one in told if one not in known]:
            self.unknown("key", key, known)

    def form(self, told: Json, form: Form, words: str) -> JsonObject:
        """The members that fit a form; each that doesn't is noted, as is each key that the form doesn't know.

        `words` say what the whole is, where that is no object.
        """
        if not is_object(told):
            self(words)
            return {}
        self.keys(told, form)
        judged = {key: schema for key, (schema, _) in form.items() if key in told and schema is not ANY}
        misfits = [key for key, schema in judged.items() if not _fits(told[key], schema)]
        for key in misfits:
            self.at(key)(form[key][1])
        return {key: told[key] for key in form if key in told and key not in misfits}

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


def _fits(value: Json, schema: Json) -> bool:
    is_count = is_object(schema) and schema.get("type") == "integer"  # 2.0 is none: it is counted with
    return Validator(schema).accepts(value) and not (is_count and isinstance(value, float))
