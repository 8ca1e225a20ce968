"""Expressions over references: `a <|> b`, `a *> b`, parentheses (O5), and what is computed of them (E).

The caller says what a reference holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from .computing.text import Computed
from .reference import SIGIL, Reference, ReferenceSyntax, clip, scan_reference

MOST_TERMS = 256
MOST_NESTING = 32


class _Missing:
    """The type of MISSING."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()
"""What a path holds that holds nothing; `null`, `0`, `""` and `false` are values (O2)."""


@dataclass(frozen=True, slots=True)
class First:
    """`a <|> b`: the first that exists; in an output path, alternatives."""

    options: tuple[Expression, ...]

    def __str__(self) -> str:
        return " <|> ".join(f"({option})" if isinstance(option, Each) else str(option) for option in self.options)


@dataclass(frozen=True, slots=True)
class Each:
    """`a *> b`: all must exist, and the value is the last's; in an output path, all are written."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " *> ".join(str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Bound:
    """A computed value with what it reads, by reference: all that is needed to compute it (E3)."""

    computed: Computed
    values: Mapping[Reference, Any]


Expression: TypeAlias = "Reference | First | Each | Computed"


def is_expression(text: str) -> bool:
    """Whether a string is an expression: it begins with a single † (O1), or with ( and then †."""
    if text.startswith(SIGIL):
        return not text.startswith(SIGIL * 2)
    return text.startswith("(") and text.lstrip("( ").startswith(SIGIL)


def parse(text: str) -> Expression:
    """Read an expression.

    Raises:
        ReferenceSyntax: the text is not an expression; the message names the character.
    """
    if text.startswith(SIGIL) and "(" not in text:  # most expressions are one reference
        reference, end = scan_reference(text, 0)
        if end == len(text):
            return reference
    parser = _Parser(text)
    expression = parser.each(0)
    if parser.position < len(text):
        parser.fail("an operator")
    return expression


def references(expression: Expression) -> Iterator[Reference]:
    """All references of an expression, in order."""
    match expression:
        case Reference():
            yield expression
        case Computed(references=read):
            yield from read
        case First(options=parts) | Each(parts=parts):
            for part in parts:
                yield from references(part)


def written_paths(expression: Expression | None) -> tuple[Reference, ...]:
    """Every path that a call with this output path may write (O5)."""
    return tuple(references(expression)) if expression is not None else ()


def with_changed_references(expression: Expression, change: Callable[[Reference], Reference]) -> Expression:
    """The expression with each reference changed."""
    match expression:
        case Reference():
            return change(expression)
        case First(options=options):
            return First(tuple(with_changed_references(option, change) for option in options))
        case Each(parts=parts):
            return Each(tuple(with_changed_references(part, change) for part in parts))
        case Computed():
            return replace(expression, references=tuple(map(change, expression.references)))


def evaluate(expression: Expression, read: Callable[[Reference], Any]) -> Any:
    """The expression's value where `read` gives each reference's value or MISSING; of a computed one, what it reads."""
    match expression:
        case Computed(references=read_by):
            values = {reference: read(reference) for reference in read_by}
            return MISSING if any(one is MISSING for one in values.values()) else Bound(expression, values)
        case Reference():
            return read(expression)
        case First(options=options):
            values = (evaluate(option, read) for option in options)
            return next((value for value in values if value is not MISSING), MISSING)
        case Each(parts=parts):
            value: Any = MISSING
            for part in parts:
                value = evaluate(part, read)
                if value is MISSING:
                    break
            return value


_SPACE = re.compile(r"\s*")
_FIRST = re.compile(r"\s*(?:<\|>|\|\|)\s*")
_EACH = re.compile(r"\s*(?:\*>|&&)\s*")


class _Parser:
    """Recursive descent over one text; `<|>` binds tighter than `*>`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.terms = 0

    def each(self, depth: int) -> Expression:
        parts = self._separated(_EACH, lambda: self.first(depth))
        return parts[0] if len(parts) == 1 else Each(tuple(parts))

    def first(self, depth: int) -> Expression:
        options = self._separated(_FIRST, lambda: self.term(depth))
        return options[0] if len(options) == 1 else First(tuple(options))

    def term(self, depth: int) -> Expression:
        self.terms += 1
        if self.terms > MOST_TERMS or depth > MOST_NESTING:
            raise ReferenceSyntax(f"{clip(self.text)!r} is too large an expression (at most {MOST_TERMS} references)")
        if self.text.startswith(SIGIL, self.position):
            reference, self.position = scan_reference(self.text, self.position)
            return reference
        if not self.text.startswith("(", self.position):
            self.fail("a reference")
        self._skip(1)
        expression = self.each(depth + 1)
        self._skip(0)
        if not self.text.startswith(")", self.position):
            self.fail("')'")
        self._skip(1)
        return expression

    def fail(self, expected: str) -> None:
        raise ReferenceSyntax(f"{expected} is expected at character {self.position} of {clip(self.text)!r}")

    def _separated(self, separator: re.Pattern[str], item: Callable[[], Expression]) -> list[Expression]:
        items = [item()]
        while match := separator.match(self.text, self.position):
            self.position = match.end()
            items.append(item())
        self._skip(0)
        return items

    def _skip(self, count: int) -> None:
        space = _SPACE.match(self.text, self.position + count)
        self.position = space.end() if space else self.position + count
