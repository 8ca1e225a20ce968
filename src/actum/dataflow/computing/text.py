"""Where a text is computed (E1): groups in braces that hold a † outside of quotes. All else is literal."""

from __future__ import annotations

import ast
import re
from collections.abc import Container
from dataclasses import dataclass

from ..reference import SIGIL, Reference, clip
from .source import Computation, parse
from .tokens import COUNTED_KINDS, ITEM_KIND, MOST_CHARACTERS, MOST_DEPTH, ComputingSyntax

_RESERVED = (*COUNTED_KINDS, ITEM_KIND)


@dataclass(frozen=True, slots=True)
class Computed:
    """A text of which parts are computed; one group alone has a value of any type."""

    text: str
    parts: tuple[str | Computation, ...]
    references: tuple[Reference, ...]
    """Of all groups, each once."""

    def __str__(self) -> str:
        return self.text

    @property
    def only_refers(self) -> bool:
        """Whether it is a reference in braces, which works nothing out."""
        part = self.parts[0]
        if len(self.parts) > 1 or isinstance(part, str) or part.format:
            return False
        node = part.tree
        while isinstance(node, ast.Attribute) or (
            isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        ):
            node = node.value
        return isinstance(node, ast.Name)


def read_text(text: str, names: Container[str] = ()) -> Computed | str:
    """The text's groups, or the text itself with `††` read as † where nothing in it is computed.

    `names` are the kinds that exist: one of them behind a † outside of groups was meant as a reference.

    Raises:
        ComputingSyntax: a group can't be read or isn't closed, or a reference stands outside of braces.
    """
    if SIGIL not in text:
        return text
    parts: list[str | Computation] = []
    end = 0
    for start, stop in _groups(text):
        if start > end:
            parts.append(_literal(text, end, start, names))
        parts.append(parse(text[start + 1 : stop - 1]))
        end = stop
    if end < len(text):
        parts.append(_literal(text, end, len(text), names))
    if not any(isinstance(part, Computation) for part in parts):
        return "".join(part for part in parts if isinstance(part, str))
    found = (reference for part in parts if isinstance(part, Computation) for reference in part.references)
    return Computed(text, tuple(parts), tuple(dict.fromkeys(found)))


_MARK = re.compile(r"††|†(?P<name>[\w-]*)")
_PATH = re.compile(r"†\w++(?:\.\w++(?!\()|\[\d++\])*+")
_GOES_ON = re.compile(r"\s*[-+*/%<>=!\[(]|\.\w++\(|\s++(?:if|and|or|not|in|is)\s")
"""What stands behind a reference where more than it was meant."""


def _literal(text: str, start: int, end: int, names: Container[str]) -> str:
    """The text between two groups."""

    def sign(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return SIGIL
        for kind in dict.fromkeys((name, name.split("-", 1)[0])):
            if kind and (kind in _RESERVED or kind in names):
                raise _without_braces(text, start + match.start(), kind)
        return match.group()

    return _MARK.sub(sign, text[start:end])


def _without_braces(text: str, position: int, kind: str) -> ComputingSyntax:
    """What is wrong with a reference outside of groups."""
    path = _PATH.match(text, position)
    reference = path.group() if path and len(path.group()) <= _MOST_TOLD else f"{SIGIL}{kind}…"
    if path and position == 0 and _GOES_ON.match(text, path.end()):
        whole = clip(" ".join(text.split()))
        return ComputingSyntax(f"more than a reference stands in braces, as an expression: {{{whole}}}")
    return ComputingSyntax(
        f"{reference} at character {position} stands in a text without braces: "
        f"write {{{reference}}}, or {SIGIL * 2}{kind} for the sign itself"
    )


_MOST_TOLD = 60


def _groups(text: str) -> list[tuple[int, int]]:
    """Where the groups stand, each with its braces; only what has a † within reach is looked at."""
    found: list[tuple[int, int]] = []
    position = text.find("{")
    while position >= 0 and (mark := text.find(SIGIL, position)) >= 0:
        if mark > position + REACH:
            position = text.find("{", mark - REACH)
            continue
        end = group_end(text, position) or 0
        if end:
            found.append((position, end))
        position = text.find("{", end or position + 1)
    return found


REACH = MOST_CHARACTERS + 2
"""How far a group may reach, with its braces."""

_PIECE = re.compile(r"""(?P<quoted>(?<!\w)[fF]'(?:[^'\\]|\\.)*+'|(?<!\w)[fF]"(?:[^"\\]|\\.)*+")
    |'(?:[^'\\]|\\.)*+' | "(?:[^"\\]|\\.)*+" | ['"] | †† | † | [{}]""", re.VERBOSE | re.DOTALL)  # fmt: skip


def group_end(text: str, start: int, *, is_whole: bool = True) -> int | None:
    """Where the group that opens at `start` ends, or 0 where its braces are literal.

    None: of a text that is not whole, that depends on what follows.

    Raises:
        ComputingSyntax: it holds a † and isn't closed.
    """
    depth, is_marked, is_marked_itself = 0, False, False
    for piece in _PIECE.finditer(text, start, start + REACH):
        match piece.group():
            case "{":
                depth += 1
            case "}":
                depth -= 1
            case "†":
                is_marked = True
                is_marked_itself = is_marked_itself or (depth == 1 and text[piece.end() : piece.end() + 1].isalpha())
            case "'" | '"':
                break
            case word:
                if piece["quoted"] and SIGIL in word.replace(SIGIL * 2, ""):
                    is_marked = True
        if depth == 0:
            return piece.end() if is_marked else 0
        if depth > MOST_DEPTH and not is_marked:
            return 0
    if not is_whole and len(text) < start + REACH:
        return None
    if is_marked_itself:
        raise ComputingSyntax(
            f"the group that opens at character {start} isn't closed within {MOST_CHARACTERS:,} characters, "
            f"or a quote in it isn't: {text[start : start + 40]!r}"
        )
    return 0
