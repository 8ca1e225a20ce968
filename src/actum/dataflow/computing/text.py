"""Where a text is computed (E1): groups in braces that hold a † outside of quotes, parsed once. All else is literal."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..reference import SIGIL, Reference, clip
from .allowance import Allowance, Meter
from .constructs import CONSTRUCTS
from .group_reader import OPEN, GroupReader, braces, marked_parts
from .passes import Grammar
from .places import check_tree_depth
from .tokens import COUNTED_KINDS, ITEM_KIND, MOST_CHARACTERS, ComputingSyntax, refused

_KEPT = 512
"""How many sources stay parsed."""


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """An expression as authored and as a tree, whose n-th reference is the name `ref_n`.

    A node's `col_offset` and `end_col_offset` are its characters in `source`.
    """

    source: str
    """The group's text, without braces and without the format behind it."""
    tree: ast.expr
    references: tuple[Reference, ...]
    """What has to be there, each once: of `calls` and `results` the number alone, of `each` nothing more, of other
    kinds the path up to the first number. What follows stands in the tree."""
    format: str
    """As in `.2f`, or nothing."""


@lru_cache(_KEPT)
def read_group(source: str) -> Computation:
    """Read what stands between the braces of a group.

    Raises:
        ComputingSyntax: it is too long or too deep, isn't an expression, or holds what E2 doesn't list.
    """
    if len(source) > MOST_CHARACTERS:
        raise refused(f"an expression has at most {MOST_CHARACTERS:,} characters, not {len(source):,}", source)
    reader = GroupReader(source)
    read = reader.read(0, len(source))
    check_tree_depth(read.tree, source)
    Grammar(source, CONSTRUCTS).check(read.tree, frozenset())
    return Computation(source[: read.end].strip(), read.tree, tuple(reader.references), read.format)


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
        """Whether it is only a reference in braces, which computes nothing."""
        part = self.parts[0]
        if len(self.parts) > 1 or isinstance(part, str) or part.format:
            return False
        node = part.tree
        while isinstance(node, ast.Attribute) or (
            isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        ):
            node = node.value
        return isinstance(node, ast.Name)


_PER_TEXT = 20
_PER_GROUP = 200
_PER_CHARACTER = 10
"""The steps that it takes to read a text, and each group in it (E4)."""


def read_computed(text: str, names: Container[str] = (), meter: Meter | None = None) -> Computed | str:
    """The text's groups, or the text itself with `††` read as † where nothing in it is computed.

    `names` are the kinds that exist: one of them behind a † outside of groups was meant as a reference.

    Raises:
        ComputingSyntax: a group can't be read or isn't closed, or a reference stands outside of braces.
        ComputingError: reading it would take more than `meter` allows.
    """
    if SIGIL not in text:
        return text
    meter = meter or Meter(Allowance())
    meter.spend(_PER_TEXT)
    parts: list[str | Computation] = []
    end = 0
    for start, stop in _groups(text, meter):
        if start > end:
            parts.append(_literal(text, end, start, names))
        meter.spend(_PER_GROUP + _PER_CHARACTER * (stop - start))
        parts.append(read_group(text[start + 1 : stop - 1]))
        end = stop
    if end < len(text):
        parts.append(_literal(text, end, len(text), names))
    if not any(isinstance(part, Computation) for part in parts):
        return "".join(part for part in parts if isinstance(part, str))
    references = (reference for part in parts if isinstance(part, Computation) for reference in part.references)
    return Computed(text, tuple(parts), tuple(dict.fromkeys(references)))


_MARK = re.compile(r"††|†(?P<name>[\w-]*)")
_PATH = re.compile(r"†\w++(?:\.\w++(?!\()|\[[0-9]++\])*+")
_GOES_ON = re.compile(r"\s*[-+*/%<>=!\[(]|\.\w++\(|\s++(?:if|and|or|not|in|is)\s")
"""What follows a reference where an expression was meant."""


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


def _groups(text: str, meter: Meter) -> Iterator[tuple[int, int]]:
    """Where the groups stand, each with its braces."""
    for start, stop in marked_parts(text):
        for brace in braces(text, start, stop, meter):
            if brace.end == OPEN:
                raise ComputingSyntax(
                    f"the group that opens at character {brace.start} isn't closed within {MOST_CHARACTERS:,} "
                    f"characters, or a quote in it isn't: {text[brace.start : brace.start + 40]!r}"
                )
            if brace.end:
                yield brace.start, brace.end
