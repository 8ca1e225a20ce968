"""Expressions over references: `a <|> b`, `a *> b`, parentheses (O5), what is computed of them (E), and JSON with them.

The caller says what a reference holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from ..schema.json import is_object, with_texts
from .computing.allowance import Allowance, Meter
from .computing.operands import ComputingError
from .computing.places import MAY_MISS
from .computing.text import Computed, read_computed
from .computing.tokens import ComputingSyntax
from .reference import SIGIL, Path, Reference, ReferenceSyntax, clip, print_path, scan_reference

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
SCALARS = frozenset({str, int, float, bool, type(None)})
"""The types of values that hold no others. Most values have one of these, so code asks for them first."""


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
            return MISSING if any(value is MISSING for value in values.values()) else Bound(expression, values)
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
        parts = self._parse_separated(_EACH, lambda: self.first(depth))
        return parts[0] if len(parts) == 1 else Each(tuple(parts))

    def first(self, depth: int) -> Expression:
        options = self._parse_separated(_FIRST, lambda: self.term(depth))
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

    def _parse_separated(self, separator: re.Pattern[str], item: Callable[[], Expression]) -> list[Expression]:
        items = [item()]
        while match := separator.match(self.text, self.position):
            self.position = match.end()
            items.append(item())
        self._skip(0)
        return items

    def _skip(self, count: int) -> None:
        space = _SPACE.match(self.text, self.position + count)
        self.position = space.end() if space else self.position + count


class TextBounds(NamedTuple):
    """The bounds for reading a value."""

    kinds: Container[str] = ()
    """The data kinds that exist: a text that seems to refer to one of them, but doesn't, is refused."""
    allowance: Callable[[], Allowance] = Allowance
    """What computing may spend, asked for where anything has to be computed (E4, L5)."""


ALONE = TextBounds()
"""For a value that belongs to no run."""
_TOO_MUCH = "there are too many braces and references to read: leave out what isn't computed, or make several calls"


@dataclass(frozen=True, slots=True)
class Hole:
    """The place in a template that its expression of this number fills."""

    number: int


class Template(NamedTuple):
    """A value whose references have been parsed; `paths[n]` is the path of `expressions[n]`."""

    value: Any
    expressions: tuple[Expression, ...]
    paths: tuple[Path, ...]
    is_flat: bool = False
    """Whether it is an object of literal scalars: nothing can change in it, so nobody needs a copy."""

    def with_paths(self) -> Iterable[tuple[Expression, Path]]:
        """The expressions, each with where it stands."""
        return zip(self.expressions, self.paths, strict=True)

    def fill(self, values: list[Any]) -> Any:
        """The value with each expression replaced by the value of the same number; always a fresh copy."""
        return _fill(self.value, values)


def template(value: Any, reading: TextBounds = ALONE) -> Template:
    """Parse the references and the computed values of a JSON value; `††` is a literal † (E1, O1).

    Raises:
        ReferenceSyntax: naming the path of what can't be read.
        LimitExceeded: the run may not go on.
    """
    if _is_flat(value):
        return Template(value, (), (), is_flat=True)
    if _is_literal(value):
        return Template(value, (), ())
    compiler = _Compiler(reading)
    try:
        return Template(compiler.visit(value, ()), tuple(compiler.expressions), tuple(compiler.paths))
    finally:
        if compiler.meter is not None:
            compiler.meter.settle()


def escape(value: Any) -> Any:
    """A literal value as it is authored: each † in it is written twice (E1, O1)."""
    return value if _is_flat(value) else with_texts(value, lambda text: text.replace(SIGIL, SIGIL * 2))


def _is_flat(value: Any) -> bool:
    """Whether a value is an object of literal scalars."""
    if not is_object(value):
        return False
    for member in value.values():
        if isinstance(member, str):
            if SIGIL in member:
                return False
        elif isinstance(member, dict | list):
            return False
    return True


def _is_literal(value: Any) -> bool:
    """Whether nothing in a value can be a reference or is spelled like one."""
    if isinstance(value, str):
        return SIGIL not in value
    if type(value) in SCALARS:
        return True
    return all(map(_is_literal, value.values() if is_object(value) else value))


class _Compiler:
    def __init__(self, reading: TextBounds) -> None:
        self.reading = reading
        self.meter: Meter | None = None
        self.expressions: list[Expression] = []
        self.paths: list[Path] = []

    def visit(self, value: Any, path: Path) -> Any:
        if isinstance(value, str):
            return self._text(value, path)
        if type(value) in SCALARS:
            return value
        if is_object(value):
            return {key: self.visit(member, (*path, key)) for key, member in value.items()}
        return [self.visit(item, (*path, index)) for index, item in enumerate(value)]

    def _text(self, text: str, path: Path) -> Any:
        if SIGIL not in text:
            return text
        try:
            expression = self._expression(text)
        except (ReferenceSyntax, ComputingSyntax) as error:
            raise ReferenceSyntax(str(error), print_path(path).lstrip(".")) from None
        except ComputingError:
            raise ReferenceSyntax(_TOO_MUCH, print_path(path).lstrip(".")) from None
        if isinstance(expression, str):
            return expression
        self.expressions.append(expression)
        self.paths.append(path)
        return Hole(len(self.expressions) - 1)

    def _expression(self, text: str) -> Expression | str:
        """What a text refers to or computes; a literal text as it is meant (E1)."""
        problem: ReferenceSyntax | None = None
        if is_expression(text):
            try:
                if text.endswith(MAY_MISS) and scan_reference(text, 0)[1] == len(text) - 1:
                    return replace(self._group(text), text=text)
                return parse(text)
            except ReferenceSyntax as error:
                problem = error
        content: Computed | str = self._read(text)
        if problem is not None and text.startswith(SIGIL) and isinstance(content, str):
            raise problem
        return content

    def _group(self, text: str) -> Computed:
        """A reference whose last key may be missing, as a computed value."""
        group = self._read(f"{{{text}}}")
        assert isinstance(group, Computed)
        return group

    def _read(self, text: str) -> Computed | str:
        if self.meter is None:
            self.meter = Meter(self.reading.allowance())
        return read_computed(text, self.reading.kinds, self.meter)


def _fill(value: Any, values: list[Any]) -> Any:
    if type(value) in SCALARS:
        return value
    if isinstance(value, Hole):
        return values[value.number]
    if is_object(value):
        return {key: _fill(member, values) for key, member in value.items()}
    return [_fill(item, values) for item in value]
