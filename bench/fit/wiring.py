"""Which arguments of calls are values that earlier calls have brought, and the plan that refers to them instead.

Both follow from what was called and what was answered, by one rule for every suite and every way of calling: a text of
three characters or more, or a number that isn't small, which stands as it is in an earlier answer, was brought by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from actum.dataflow.reference import SIGIL, Path, Reference
from actum.schema.json import JsonObject, encode, is_list, is_object

_SHORT, _SMALL = 3, 10
"""Shorter texts and smaller numbers are equal by chance."""


class Made(NamedTuple):
    """A call that was made, and what it was answered."""

    tool: str
    arguments: Mapping[str, Any]
    answer: Any
    failed: bool = False


Source: TypeAlias = "tuple[int, Path]"
"""The number of an earlier call, and where in its answer a value stands."""


@dataclass(slots=True, kw_only=True)
class Arguments:
    """Counts of argument values: `given` in all, `brought` by earlier calls, and of those the ones that a model `wrote`
    out and the ones that were `only_there`, not in what the user has said."""

    given: int = 0
    brought: int = 0
    wrote: int = 0
    only_there: int = 0

    def __add__(self, other: Arguments) -> Arguments:
        return Arguments(
            given=self.given + other.given,
            brought=self.brought + other.brought,
            wrote=self.wrote + other.wrote,
            only_there=self.only_there + other.only_there,
        )


@dataclass(slots=True)
class Brought:
    """The values that calls have brought so far, and where they stand."""

    _sources: dict[str, list[Source]] = field(default_factory=dict[str, list[Source]])
    _calls: int = 0

    def add(self, answer: Any) -> None:
        """Take in the answer of the next call."""
        for path, value in leaves(answer):
            if _is_telling(value):
                self._sources.setdefault(encode(value), []).append((self._calls, path))
        self._calls += 1

    def source(self, name: str, value: Any) -> Source | None:
        """Where a value was brought; where it stands several times, under the parameter's own name if it does."""
        places = self._sources.get(encode(value), ()) if _is_telling(value) else ()
        named = (
            place for place in places if place[1] and isinstance(place[1][-1], str) and name.endswith(place[1][-1])
        )
        return next(named, places[0] if places else None)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What a value holds that holds nothing itself, with its path."""
    if is_object(value):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif is_list(value):
        for index, part in enumerate(value):
            yield from leaves(part, (*path, index))
    else:
        yield path, value


def counted(made: Iterable[Made], prompt: str, answers: Sequence[str]) -> Arguments:
    """Count the argument values of calls; `answers` is what a model has written."""
    brought, arguments = Brought(), Arguments()
    for call in made:
        for name, argument in call.arguments.items():
            for _, value in leaves(argument):
                arguments.given += 1
                if brought.source(name, value) is not None:
                    text = value if isinstance(value, str) else encode(value)
                    written = encode(value)[1:-1] if isinstance(value, str) else text
                    arguments.brought += 1
                    arguments.wrote += any(text in answer or written in answer for answer in answers)
                    arguments.only_there += text not in prompt
        brought.add(call.answer)
    return arguments


def wired(made: Iterable[Made]) -> list[JsonObject]:
    """The calls as elements of one answer, with a reference for each value that an earlier one brings.

    What was written out once, and comes back only because it was, is written out again.
    """
    brought = Brought()
    written: set[str] = set()
    calls: list[JsonObject] = []
    for call in made:
        parameters = {name: _referring(name, argument, brought, written) for name, argument in call.arguments.items()}
        calls.append({"_tool": call.tool, **parameters})
        brought.add(call.answer)
    return calls


def reference(number: int, path: Path) -> str:
    """The reference to a value in the result of a call."""
    return str(Reference("calls", (number, *path)))


def literal(text: str) -> str:
    """A text that stands for itself in a call."""
    return f"{SIGIL}{text}" if text.startswith(SIGIL) else text


def _referring(name: str, value: Any, brought: Brought, written: set[str]) -> Any:
    if is_object(value):
        return {key: _referring(key, part, brought, written) for key, part in value.items()}
    if is_list(value):
        return [_referring(name, part, brought, written) for part in value]
    source = brought.source(name, value)
    if source is not None and encode(value) not in written:
        return reference(*source)
    written.add(encode(value))
    return literal(value) if isinstance(value, str) else value


def _is_telling(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) >= _SHORT
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= _SMALL
