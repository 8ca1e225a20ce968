"""Values of a plan as Python's own expressions, which come to the same (R37)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..dataflow.computing.places import may_miss
from ..dataflow.computing.text import Computation, Computed
from ..dataflow.expression import Expression, Hole, template
from ..dataflow.reference import CALLS, Reference, ReferenceSyntax
from ..errors import RefineError
from ..schema.json import is_list, is_object

_SAME = frozenset({"len", "any", "all", "abs", "round", "bool"})
"""The functions that are Python's own."""
_METHODS = frozenset(
    {"lower", "upper", "title", "capitalize", "casefold", "strip", "lstrip", "rstrip", "split", "splitlines", "find"}
)
"""The methods of texts that are Python's own."""
_PLAIN = (
    ast.BinOp,
    ast.BoolOp,
    ast.UnaryOp,
    ast.IfExp,
    ast.List,
    ast.Dict,
    ast.ListComp,
    ast.GeneratorExp,
    ast.comprehension,
    ast.Constant,
    ast.Slice,
    ast.keyword,
    ast.Lambda,
    ast.arguments,
    ast.arg,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
    ast.expr_context,
)
"""What means the same in Python."""


def not_python(subject: str, leaf: str | None = None) -> RefineError:
    """Why something can't be written."""
    return RefineError(f"{subject} can't be written as Python", code="not_python", path=leaf)


def name(variable: str) -> ast.Name:
    """A variable."""
    return ast.Name(variable, ast.Load())


def call(function: ast.expr, *arguments: ast.expr) -> ast.Call:
    """A call of a function."""
    return ast.Call(function, list(arguments), [])


def at_key(owner: ast.expr, key: str | int) -> ast.Subscript:
    """A part of a value."""
    return ast.Subscript(owner, ast.Constant(key), ast.Load())


@dataclass(slots=True)
class PythonExpressions:
    """Writes values: `results` are the variables of calls by their places in the plan, `given` those of the input.

    `is_text` says of a reference whether what it reads is declared as a text. What was `used` is noted, and what is
    imported of `actum.refine`.
    """

    results: Mapping[int, str]
    given: Mapping[str, str]
    is_text: Callable[[Reference], bool]
    used: set[str]
    imported: set[str]

    def value(self, value: Any) -> ast.expr:
        """A value of the plan, with what it refers to and computes.

        Raises:
            RefineError: Python would come to something else.
        """
        try:
            parsed = template(value)
        except (ReferenceSyntax, ValueError) as error:
            raise not_python(f"{value!r}: {error}:") from None
        return self._filled(parsed.value, parsed.expressions)

    def condition(self, condition: Any) -> ast.expr:
        """What has to be true."""
        return self.value(condition if not isinstance(condition, str) or "{" in condition else f"{{{condition}}}")

    def _filled(self, value: Any, expressions: tuple[Expression, ...]) -> ast.expr:
        if isinstance(value, Hole):
            return self._expression(expressions[value.number])
        if is_object(value):
            members = [self._filled(part, expressions) for part in value.values()]
            return ast.Dict([ast.Constant(key) for key in value], list(members))
        if is_list(value):
            return ast.List([self._filled(part, expressions) for part in value], ast.Load())
        return ast.Constant(value)

    def _expression(self, expression: Expression) -> ast.expr:
        if isinstance(expression, Reference):
            return self._reference(expression)
        if not isinstance(expression, Computed):
            raise not_python(f"a choice of places, {expression},")
        parts = expression.parts
        if len(parts) == 1 and isinstance(parts[0], Computation) and not parts[0].format:
            return self._computation(parts[0])
        return _joined([ast.Constant(part) if isinstance(part, str) else self._part(part) for part in parts])

    def _part(self, part: Computation) -> ast.expr:
        """A group in a text: what is declared as a text stands as it is."""
        return self._written(self._computation(part), part.format, _plain_reference(part))

    def _written(self, value: ast.expr, form: str, reference: Reference | None) -> ast.expr:
        if form:
            return ast.FormattedValue(value, -1, ast.JoinedStr([ast.Constant(form)]))
        if reference is not None and self.is_text(reference):
            return ast.FormattedValue(value, -1)
        return ast.FormattedValue(call(self._imported("text"), value), -1)

    def _reference(self, reference: Reference) -> ast.expr:
        path = list(reference.path)
        if reference.kind == "input" and path and path[0] in self.given:
            variable = name(self.given[str(path.pop(0))])
        elif reference.kind == CALLS and path and path[0] in self.results:
            variable = name(self.results[int(path.pop(0))])
        elif reference.kind == "each":
            variable = name("each")
        else:
            raise not_python(str(reference))
        self.used.add(variable.id)
        expression: ast.expr = variable
        for key in path:
            expression = at_key(expression, key)
        return expression

    def _computation(self, computation: Computation) -> ast.expr:
        references = {f"ref_{at}": reference for at, reference in enumerate(computation.references)}
        return self._node(computation.tree, references)

    def _node(self, node: ast.expr, references: Mapping[str, Reference]) -> ast.expr:
        return _Translation(self, references).visit(node)

    def _imported(self, word: str) -> ast.expr:
        self.imported.add(word)
        return name(word)


class _Translation(ast.NodeTransformer):
    """One expression as Python's."""

    def __init__(self, writer: PythonExpressions, references: Mapping[str, Reference]) -> None:
        self._writer = writer
        self._references = references

    def generic_visit(self, node: Any) -> Any:
        """Take what means the same in Python, and nothing else."""
        if not isinstance(node, _PLAIN):
            raise not_python(f"{type(node).__name__} in an expression")
        # A copy: trees are shared, and lists in them are changed in place.
        fields: dict[str, Any] = {key: [*value] if is_list(value) else value for key, value in ast.iter_fields(node)}
        kind: Any = type(node)
        return super().generic_visit(kind(**fields))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        reference = self._references.get(node.id)
        return name(node.id) if reference is None else self._writer._reference(reference)  # pyright: ignore[reportPrivateUsage] -- of this module

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if may_miss(node):
            raise not_python(f"a key that may be missing, .{node.attr}?,")
        return at_key(self.visit(node.value), node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if may_miss(node):
            raise not_python("a key that may be missing")
        return ast.Subscript(self.visit(node.value), self.visit(node.slice), ast.Load())

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [node.left, *node.comparators]
        in_order = any(isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for operator in node.ops)
        if in_order and not any(map(_is_number, sides)):  # two times in different forms are compared as times
            raise not_python("which of two values is the greater, where neither is a number that is written there,")
        return ast.Compare(self.visit(node.left), node.ops, [self.visit(operand) for operand in node.comparators])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments = [self.visit(arg) for arg in node.args]
        named = [self.visit(keyword) for keyword in node.keywords]
        if isinstance(node.func, ast.Attribute):
            if node.func.attr not in _METHODS:
                raise not_python(f".{node.func.attr}()")
            return ast.Call(ast.Attribute(self.visit(node.func.value), node.func.attr, ast.Load()), arguments, named)
        word = node.func.id if isinstance(node.func, ast.Name) else ""
        if word in _SAME:
            return ast.Call(name(word), arguments, named)
        if word == "str":
            return call(self._writer._imported("text"), *arguments)  # pyright: ignore[reportPrivateUsage] -- as above
        return ast.Call(ast.Attribute(self._writer._imported("functions"), word, ast.Load()), arguments, named)  # pyright: ignore[reportPrivateUsage] -- as above

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return _joined([self.visit(part) for part in node.values])

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        form = node.format_spec.values[0] if isinstance(node.format_spec, ast.JoinedStr) else None
        written = str(form.value) if isinstance(form, ast.Constant) else ""
        return self._writer._written(self.visit(node.value), written, None)  # pyright: ignore[reportPrivateUsage] -- as above


def _joined(parts: list[ast.expr]) -> ast.expr:
    return ast.JoinedStr(parts)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "len"
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _plain_reference(part: Computation) -> Reference | None:
    """The reference that a group is, None where it is more."""
    path: list[str | int] = []
    node = part.tree
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or not node.id.startswith("ref_"):
        return None
    reference = part.references[int(node.id.removeprefix("ref_"))]
    return Reference(reference.kind, (*reference.path, *reversed(path)))
