"""JSON with references at some leaves: found and parsed once, filled when their values are there (A5, O1, O7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..schema.json import is_list, is_object
from .expression import Expression, is_expression, parse
from .fold import SCALARS
from .reference import SIGIL, Path, ReferenceSyntax, print_path

_OPENING = (SIGIL, "(")
"""How a reference, and what is spelled like one, begins."""


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


def template(value: Any) -> Template:
    """Parse the references of a JSON value; `††` at the start of a string is a literal † (O1).

    Raises:
        ReferenceSyntax: naming the path of the reference that can't be read.
    """
    if _is_flat(value):
        return Template(value, (), (), is_flat=True)
    if _is_literal(value):
        return Template(value, (), ())
    compiler = _Compiler()
    return Template(compiler.visit(value, ()), tuple(compiler.expressions), tuple(compiler.paths))


def escaped(value: Any) -> Any:
    """A literal value as it is authored: a string that begins with † has a second one (O1)."""
    if isinstance(value, str):
        return SIGIL + value if value.startswith(SIGIL) else value
    if is_object(value):
        return {key: escaped(member) for key, member in value.items()}
    return [escaped(item) for item in value] if is_list(value) else value


def _is_flat(value: Any) -> bool:
    """Whether a value is an object of literal scalars."""
    if not is_object(value):
        return False
    for member in value.values():
        if isinstance(member, str):
            if member.startswith(_OPENING):
                return False
        elif isinstance(member, dict | list):
            return False
    return True


def _is_literal(value: Any) -> bool:
    """Whether nothing in a value can be a reference or is spelled like one."""
    if isinstance(value, str):
        return not value.startswith(_OPENING)
    if type(value) in SCALARS:
        return True
    return all(map(_is_literal, value.values() if is_object(value) else value))


class _Compiler:
    def __init__(self) -> None:
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
        if text.startswith(SIGIL * 2):
            return text[1:]
        if not is_expression(text):
            return text
        try:
            expression = parse(text)
        except ReferenceSyntax as error:
            if not text.startswith(SIGIL):
                return text
            where = print_path(path).lstrip(".")
            raise ReferenceSyntax(f"at {where}: {error}" if where else str(error)) from None
        self.expressions.append(expression)
        self.paths.append(path)
        return Hole(len(self.expressions) - 1)


def _fill(value: Any, values: list[Any]) -> Any:
    if type(value) in SCALARS:
        return value
    if isinstance(value, Hole):
        return values[value.number]
    if is_object(value):
        return {key: _fill(member, values) for key, member in value.items()}
    return [_fill(item, values) for item in value]
