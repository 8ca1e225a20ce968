"""JSON with references and computed values at some leaves: parsed once, filled when they are there (A5, E1, O1, O7)."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..schema.json import is_list, is_object
from .computing.allowance import Allowance, Meter
from .computing.operands import ComputingError
from .computing.places import MAY_MISS
from .computing.text import Computed, read_computed
from .computing.tokens import ComputingSyntax
from .expression import Expression, is_expression, parse
from .fold import SCALARS
from .reference import SIGIL, Path, ReferenceSyntax, print_path, scan_reference


class TextBounds(NamedTuple):
    """What reading a value goes by."""

    kinds: Container[str] = ()
    """The data kinds that exist: a text that seems to refer to one of them, but doesn't, is refused."""
    allowance: Callable[[], Allowance] = Allowance
    """What it may take, asked where anything has to be computed (E4, L5)."""


ALONE = TextBounds()
"""For a value that belongs to no run."""
_TOO_MUCH = "there are too many braces and references to read: leave out what isn't computed, or make several calls"


@dataclass(frozen=True, slots=True)
class Hole:
    """Where a template is filled by its expression of this number."""

    number: int


class Template(NamedTuple):
    """A value whose references have been parsed; `paths[n]` is the path of `expressions[n]`."""

    value: Any
    expressions: tuple[Expression, ...]
    paths: tuple[Path, ...]
    is_flat: bool = False
    """Whether it is an object of literal scalars: nothing can change in it, so nobody needs a copy."""

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


def escaped(value: Any) -> Any:
    """A literal value as it is authored: each † in it is written twice (E1, O1)."""
    if isinstance(value, str):
        return value.replace(SIGIL, SIGIL * 2)
    if is_object(value):
        return {key: escaped(member) for key, member in value.items()}
    return [escaped(item) for item in value] if is_list(value) else value


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
        """What a text refers to or computes; a text without that, as it is meant (E1)."""
        problem: ReferenceSyntax | None = None
        if is_expression(text):
            try:
                if text.endswith(MAY_MISS) and scan_reference(text, 0)[1] == len(text) - 1:
                    return replace(self._group(text), text=text)
                return parse(text)
            except ReferenceSyntax as error:
                problem = error
        found: Computed | str = self._read(text)
        if problem is not None and text.startswith(SIGIL) and isinstance(found, str):
            raise problem
        return found

    def _group(self, text: str) -> Computed:
        """A reference whose last key may be missing, as what computes that."""
        found = self._read(f"{{{text}}}")
        assert isinstance(found, Computed)
        return found

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
