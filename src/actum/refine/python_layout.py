"""Expressions laid out as ruff formats them, in lines of up to 88 characters (R37)."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Sequence
from typing import cast

_WIDTH = 88
_SKIP = "  # fmt: skip"
_TEXT = re.compile(r"\b_text_(\d+)_\b")


def statement(before: str, value: ast.expr, after: str = "", *, indent: int = 4) -> str:
    """A statement whose value is laid out over several lines where one is too short."""
    start = " " * indent + before
    text = start + _laid(value, indent, len(start), len(after)) + after
    # What can't be broken here is left as it is by others, too.
    return text + _SKIP if any(len(line) > _WIDTH for line in text.splitlines()) else text


def flat(node: ast.expr, quote: str = '"') -> str:
    """An expression in one line, its texts in these quotes where they may stand in them."""
    texts: list[str] = []

    class Named(ast.NodeTransformer):
        """Puts names where texts stand."""

        def visit_Constant(self, node: ast.Constant) -> ast.expr:
            return self._named(python_text(node.value, quote)) if isinstance(node.value, str) else node

        def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
            return self._named(_formatted(node.values, quote))

        def visit_Call(self, node: ast.Call) -> ast.expr:
            if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp) and not node.keywords:
                node.args = [self._named(flat(node.args[0], quote)[1:-1])]  # which needs no second parentheses
            return cast("ast.expr", self.generic_visit(node))

        def _named(self, text: str) -> ast.expr:
            texts.append(text)
            return ast.Name(f"_text_{len(texts) - 1}_", ast.Load())

    plain = ast.fix_missing_locations(Named().visit(copy.deepcopy(node)))
    return _TEXT.sub(lambda match: texts[int(match[1])], ast.unparse(plain))


def python_text(value: str, quote: str = '"') -> str:
    """A text as Python writes it."""
    quoted = repr(value)
    return f'"{quoted[1:-1]}"' if quote == '"' and quoted[0] == "'" and '"' not in quoted else quoted


def _formatted(parts: Sequence[ast.expr], quote: str) -> str:
    """A text with values filled in: an f-string where what is filled in needs no quotes of its kind."""
    written: list[str] = []
    is_plain = quote == '"'
    for part in parts:
        if isinstance(part, ast.FormattedValue):
            inner_text = flat(part.value, "'")
            is_plain = is_plain and "\\" not in inner_text
            written.append(f"{{{inner_text}:{_form(part)}}}" if _form(part) else f"{{{inner_text}}}")
        elif isinstance(part, ast.Constant):
            written.append(repr("'" + str(part.value))[2:-1].replace("{", "{{").replace("}", "}}"))
    if is_plain and not any('"' in text for text in written):
        return f'f"{"".join(written)}"'
    pieces = [_piece(part, quote) for part in parts]
    return f"{python_text('', quote)}.join([{', '.join(pieces)}])"


def _piece(part: ast.expr, quote: str) -> str:
    if not isinstance(part, ast.FormattedValue):
        return flat(part, quote)
    inner = flat(part.value, quote)
    return f"format({inner}, {python_text(_form(part), quote)})" if _form(part) else inner


def _form(part: ast.FormattedValue) -> str:
    form = part.format_spec.values[0] if isinstance(part.format_spec, ast.JoinedStr) else None
    return str(form.value) if isinstance(form, ast.Constant) else ""


def _laid(node: ast.expr, indent: int, before: int, after: int) -> str:
    """An expression that begins behind so many characters, with so many behind it."""
    line = flat(node)
    if before + len(line) + after <= _WIDTH:
        return line
    inner = indent + 4
    match node:
        case ast.Await():
            return f"await {_laid(node.value, indent, before + 6, after)}"
        case ast.Starred():
            return f"*{_laid(node.value, indent, before + 1, after)}"
        case ast.Dict(keys=keys, values=values) if keys:
            pairs = [(flat(key), value) for key, value in zip(keys, values, strict=True) if key is not None]
            return _block(
                "{", [f"{key}: {_laid(value, inner, inner + len(key) + 2, 1)}," for key, value in pairs], "}", indent
            )
        case ast.List(elts=items) if items:
            return _block("[", [f"{_laid(item, inner, inner, 1)}," for item in items], "]", indent)
        case ast.Call(func=function, args=[ast.GeneratorExp() as argument], keywords=[]):
            inside = flat(argument)[1:-1]
            lines = [inside] if inner + len(inside) <= _WIDTH else _looped(argument, inner)
            return _block(f"{flat(function)}(", lines, ")", indent)
        case ast.Call(func=function, args=[argument], keywords=[]):
            return _block(f"{flat(function)}(", [_laid(argument, inner, inner, 0)], ")", indent)
        case ast.Call(func=function, args=arguments, keywords=[]) if arguments:
            joined = ", ".join(map(flat, arguments))
            lines = [f"{_laid(argument, inner, inner, 1)}," for argument in arguments]
            inside = [joined] if inner + len(joined) <= _WIDTH else lines
            return _block(f"{flat(function)}(", inside, ")", indent)
        case ast.ListComp():
            inside = flat(node)[1:-1]
            return _block("[", [inside] if inner + len(inside) <= _WIDTH else _looped(node, inner), "]", indent)
        case ast.GeneratorExp():
            return _block("(", _looped(node, inner), ")", indent)
        case _:
            return line


def _looped(node: ast.ListComp | ast.GeneratorExp, indent: int) -> list[str]:
    lines = [_laid(node.elt, indent, indent, 0)]
    for loop in node.generators:
        lines.append(f"for {flat(loop.target)} in {flat(loop.iter)}")
        lines += [f"if {flat(condition)}" for condition in loop.ifs]
    return lines


def _block(opening: str, lines: Sequence[str], closing: str, indent: int) -> str:
    inner = " " * (indent + 4)
    return "\n".join([opening, *(inner + line for line in lines), " " * indent + closing])
