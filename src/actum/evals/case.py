"""`Case`: one thing to try, and what is expected of it (V4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..app.idea import Idea
from ..app.recorded import RecordedCall, calls_on_record
from ..dataflow.expression import MISSING
from ..schema.json import Json, JsonObject, is_object, plain, sha256_of
from .attacks import Attack
from .complaints import ANY, WORDS, Complaint, Form

_NOT_IDENTITY = frozenset({"name", "tags"})


@dataclass(frozen=True, kw_only=True)
class Case:
    """One thing to try. Pairs of two cells are made by what the case says, whatever it is called.

    Args:
        name: what it is called in reports; one is made of its number where none is given.
        input: values of the Idea's input.
        messages: what is given behind the Idea's own messages.
        run: a run that is kept, whose tools' results serve the case; its own output is judged where nothing is run.
        expect: the output, or the part of it that counts; MISSING where nothing is expected.
        calls: patterns of calls, as the check `calls` has them.
        effects: exactly the calls that don't only read, as such patterns; None for any.
        within: tolerances of numbers in `expect`, by path: 0.5, or "2%".
        record: calls with what they give, for a case without a run.
        tags: words to find it by.
        attack: what is planted in the results that are on record; no effect is made then, nor anything asked live.
    """

    name: str = ""
    input: JsonObject | None = None
    messages: Sequence[JsonObject] = ()
    run: Idea | None = None
    expect: Any = MISSING
    calls: JsonObject | None = None
    effects: Sequence[Any] | None = None
    within: Mapping[str, Any] = field(default_factory=dict[str, Any])
    record: Sequence[JsonObject] = ()
    tags: Sequence[str] = ()
    attack: Attack | None = None
    dropped: Sequence[str] = ()
    """Texts that are cut out of it where it is written to a file."""

    def __str__(self) -> str:
        return self.name

    @cached_property
    def identity(self) -> str:
        """The SHA-256 of all that it says but its name and tags, in hex."""
        said: JsonObject = {key: getattr(self, key) for key in FORM if key not in _NOT_IDENTITY}
        said["attack"] = None if self.attack is None else self.attack.told()
        said["run"] = None if self.run is None else self.run.text.to_dict()
        said["expect"] = None if self.expect is MISSING else [self.expect]
        return sha256_of(plain(said))

    def told(self) -> JsonObject:
        """The case as it stands in a file, without its run."""
        own: JsonObject = {key: getattr(self, key) for key in FORM if key != "run"}
        left = {key: value for key, value in own.items() if value is not None and value is not MISSING}
        return {key: value for key, value in left.items() if value not in ("", (), {}, [])}


FORM: Form = {
    "name": WORDS,
    **dict.fromkeys(("run", "expect"), ANY),
    **dict.fromkeys(("input", "calls", "within"), ({"type": "object"}, "this is an object")),
    **dict.fromkeys(("messages", "effects", "record"), ({"type": "array"}, "this is a list")),
    "tags": ({"type": "array", "items": WORDS[0]}, "this is a list of words"),
}
"""What a case in a file may say."""


def parsed_case(told: Json, wrong: Complaint, run: Idea | None = None) -> Case | None:
    """A case as it stands in a file; `run` is the run that it names. None where something was wrong, which was told."""
    noted = len(wrong.noted)
    own: dict[str, Any] = wrong.form(told, FORM, "a case is an object: {input: {…}, expect: {…}}")
    own.pop("run", None)
    return None if len(wrong.noted) > noted else Case(run=run, **own)


def recorded_for(case: Case, reads: Collection[str]) -> list[RecordedCall]:
    """The calls that are on a case's record: those of its run, then those that it says itself (V22).

    Args:
        case: what is tried.
        reads: the names of the tools that only read; all others have effects.
    """
    given: list[RecordedCall] = []
    for told in case.record:
        tool = next(key for key in told if key != "gives")
        arguments: Any = told[tool]
        own: JsonObject = arguments if is_object(arguments) else {}
        given.append(RecordedCall(tool=tool, arguments=own, value=told.get("gives")))
    return given if case.run is None else [*calls_on_record(case.run, case.name, reads), *given]
