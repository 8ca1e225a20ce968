"""From the source of an expression to Python's tree of it: references, keys that are keywords and f-strings are read
here, all else by Python's parser. What a tree may hold is for its `constructs` to say."""

from __future__ import annotations

import ast
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple, cast

from ..reference import SIGIL, Reference
from .allowance import Meter
from .places import MAY_MISS, check_tree_depth, place
from .tokens import (
    MOST_CHARACTERS,
    MOST_DEPTH,
    TOKEN,
    ComputingSyntax,
    check_word,
    key_as_python,
    quotable,
    refused,
    scan,
    unexpected,
)

REACH = MOST_CHARACTERS + 2
"""How far a group may reach, with its braces."""
OPEN = -1
"""The end of a group that holds a † of its own and isn't closed."""
_SIGN = re.compile("[{}'\"]|†+")
_MARKS = re.compile("†+")


class Brace(NamedTuple):
    """Where a brace opens and the group behind it ends; 0 where it is literal, None where that isn't known yet."""

    start: int
    end: int | None


def braces(text: str, start: int, stop: int, meter: Meter, *, is_whole: bool = True) -> Iterator[Brace]:
    """The opening braces of a part of a text, but for those inside of a group, in order.

    Of a text that is not whole, what one means may depend on what follows.
    """
    signs = _Signs(text, start, stop, meter)
    index = 0
    while (index := signs.next_opening(index)) < signs.count:
        at = signs.at[index]
        close = signs.closing[index + 1]
        if close < signs.count and signs.at[close] < at + REACH:
            is_group = signs.is_marked[index + 1]
            yield Brace(at, signs.at[close] + 1 if is_group else 0)
            index = close if is_group else index
        elif not is_whole and len(text) < at + REACH:
            yield Brace(at, None)
        else:
            yield Brace(at, OPEN if signs.own_mark[index + 1] < at + REACH else 0)
        index += 1


def marked_parts(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that have a † within reach."""
    start = end = 0
    for mark in _MARKS.finditer(text):
        if mark.start() - REACH > end:
            if end:
                yield start, end
            start = mark.start() - REACH
        end = mark.end() + REACH
    if end:
        yield start, min(end, len(text))


class _Signs:
    """The signs of a part of a text, and of each what follows it for whoever stands before it outside of quotes.

    What follows is the same for all who come by there. So it is found from the end on, in one pass: `closing` is the
    brace that closes what is open there, `is_marked` whether a reference stands before that, and `own_mark` where the
    first one stands that is in no braces of its own. Quotes are passed over, but for the f-strings among them.
    """

    def __init__(self, text: str, start: int, stop: int, meter: Meter) -> None:
        self._text = text
        self.at = array("q")
        self.words: list[str] = []
        for sign in _SIGN.finditer(text, start, stop):
            self.at.append(sign.start())
            self.words.append(sign.group())
            meter.spend(1)
        self.count = count = len(self.words)
        self.closing = array("q", [count]) * (count + 2)
        self.own_mark = array("q", [len(text) + REACH]) * (count + 2)
        self.is_marked = bytearray(count + 2)
        self._follow(meter)

    def next_opening(self, index: int) -> int:
        """The next opening brace from this sign on."""
        try:
            return self.words.index("{", index)
        except ValueError:
            return self.count

    def _follow(self, meter: Meter) -> None:
        closing, is_marked, own_mark = self.closing, self.is_marked, self.own_mark
        quotes = {"'": self.count, '"': self.count}
        references = array("q", [0]) * (self.count + 2)
        for index in range(self.count - 1, -1, -1):
            word, behind, has_mark = self.words[index], index + 1, False
            references[index] = references[behind]
            meter.spend(2)
            if word == "}":
                closing[index] = index
                continue
            if word == "{":
                has_mark = bool(is_marked[behind])
                behind = closing[behind] + 1
            elif word in quotes:
                closed, quotes[word] = quotes[word], index if self._may_close(index) else quotes[word]
                has_mark = self._is_formatted(index) and references[index + 1] > references[closed]
                behind = closed + 1
            elif len(word) % 2:  # pairs of † are the sign itself
                has_mark = True
                references[index] += 1
            closing[index], own_mark[index] = closing[behind], own_mark[behind]
            is_marked[index] = has_mark or is_marked[behind]
            if has_mark and word[0] == SIGIL and self._is_named(index):
                own_mark[index] = self.at[index]

    def _may_close(self, index: int) -> bool:
        """Whether a quote isn't escaped, for whoever stands inside of quotes."""
        at = before = self.at[index]
        while before and self._text[before - 1] == "\\":
            before -= 1
        return (at - before) % 2 == 0

    def _is_formatted(self, index: int) -> bool:
        """Whether a quote begins an f-string."""
        before = self._text[max(self.at[index] - 2, 0) : self.at[index]]
        return before[-1:] in ("f", "F") and not (before[:-1].isalnum() or before[:-1] == "_")

    def _is_named(self, index: int) -> bool:
        """Whether a name follows a †, as in a reference."""
        end = self.at[index] + len(self.words[index])
        return self._text[end : end + 1].isalpha()


FORMAT = re.compile(r"0?[<>]?[0-9]{0,2},?(?:\.[0-9]{1,2})?[dfs%]?\Z")
"""What may stand behind the colon of a group."""

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_PREFIX_WORDS = ("not", "-", "+")


class Read(NamedTuple):
    """An expression, the format behind it, where the expression ends and where all of it does."""

    tree: ast.expr
    format: str
    end: int
    stop: int


class GroupReader:
    """Reads one source; its references are numbered in the order in which they are met."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.references: dict[Reference, int] = {}

    def read(self, start: int, stop: int, *, inside: bool = False) -> Read:
        """The expression from `start` on: up to `stop`, or `inside` of an f-string up to its closing brace.

        Raises:
            ComputingSyntax: what can't be read, and where.
        """
        words = _Words(self, start, stop, inside=inside)
        words.translate()
        tree = words.parse()
        form, stop = self._format(words.position, stop, inside=inside)
        return Read(tree, form, words.position, stop)

    def number(self, reference: Reference) -> int:
        """The number of a reference, the same wherever it is met."""
        return self.references.setdefault(reference, len(self.references))

    def _format(self, position: int, stop: int, *, inside: bool) -> tuple[str, int]:
        """The format behind an expression's end, and where the closing brace stands."""
        end = self.source.find("}", position, stop) if inside else stop
        if end < 0:
            raise refused(
                "a group of an f-string isn't closed: use the other quote inside of it", self.source, position
            )
        if position >= end:
            return "", end
        form = self.source[position + 1 : end]
        if not FORMAT.match(form):
            raise refused(
                "what follows the colon is not a format like .2f; an object is written as JSON, or {{'key': …}}",
                self.source,
                position,
            )
        return form, end


class _Words:
    """One run over the words of an expression: Python's text of it, and where each part of that stood."""

    def __init__(self, reader: GroupReader, start: int, stop: int, *, inside: bool) -> None:
        self.reader = reader
        self.source = reader.source
        self.position = start
        self.stop = stop
        self.inside = inside
        self.python: list[str] = []
        self.length = 0
        self.starts: list[int] = []
        self.spans: list[tuple[int, int]] = []
        self.opened: list[tuple[str, int]] = []
        self.prefixes = 0
        self.follows_value = False
        self.texts: list[ast.JoinedStr] = []

    def translate(self) -> None:
        """Read words until the expression ends: at a colon or a closing brace of the group, or at `stop`."""
        while self.position < self.stop:
            match = TOKEN.match(self.source, self.position, self.stop)
            if match is None or match.lastgroup == "refused":
                word = match.group() if match else self.source[self.position]
                raise unexpected(self.source, self.position, word)
            if self._is_end(match.group()):
                break
            self._word(match)
        if self.opened:
            bracket, position = self.opened[-1]
            raise refused(f"{bracket} isn't closed", self.source, position)

    def parse(self) -> ast.expr:
        """What Python's parser makes of the words, its places those of the source."""
        text = "".join(self.python).rstrip()
        if not text:
            raise refused("an expression is missing", self.source, self.position)
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise self._unreadable(error) from None
        except (ValueError, MemoryError, RecursionError):
            raise refused("this can't be read as an expression", self.source) from None
        check_tree_depth(tree, self.source)
        return self._place_nodes(tree, text)

    def _is_end(self, word: str) -> bool:
        return not self.opened and (word == ":" or (self.inside and word == "}"))

    def _word(self, match: re.Match[str]) -> None:
        """Take one word in."""
        word, start = match.group(), self.position
        self._count_prefixes(word)
        match match.lastgroup:
            case "space":
                self._put(" " if self.length else "", match.end())
                return
            case "reference":
                reference, end = scan(self.source, start)
                self._put_name(f"ref_{self.reader.number(reference)}", end)
            case "index":
                self._index(word, match.end())
            case "key":
                key = word[1:].lstrip().rstrip(MAY_MISS)
                self._put(key_as_python(self.source, self.source.index(key, start), key), match.end())
            case "name":
                self._name(word, match.end())
                return
            case "text":
                self._text(word, match.end())
            case "operator":
                self._operator(word, match.end())
                return
            case _:
                self._put(word, match.end())
        self.follows_value = True

    def _count_prefixes(self, word: str) -> None:
        """Signs before a value nest without any bracket."""
        if not word.isspace():
            self.prefixes = self.prefixes + 1 if word in _PREFIX_WORDS else 0
        if self.prefixes > MOST_DEPTH:
            raise refused(f"this nests deeper than {MOST_DEPTH}", self.source, self.position)

    def _index(self, word: str, end: int) -> None:
        """`.0` behind a value is a position, or a key of digits; elsewhere a number."""
        digits = word[1:]
        if not self.follows_value:
            self._put(word, end)
        elif digits == "0" or not digits.startswith("0"):
            self._put(f"[{digits}]", end)
        else:
            self._put(f"['{digits}']", end)

    def _name(self, word: str, end: int) -> None:
        check_word(self.source, self.position, word)
        if word == "lambda" and not self.opened:
            raise refused("lambda stands behind key= only", self.source, self.position)
        if word == "for" and not self.opened:
            raise refused(
                "a loop stands inside of brackets: [… for x in …], or one(… for x in … if …)",
                self.source,
                self.position,
            )
        if word == "if" and not self.follows_value:
            raise refused("if stands behind a value: a if c else b", self.source, self.position)
        self.follows_value = word not in ("and", "or", "not", "in", "is", "if", "else", "for", "lambda")
        self._put(word, end)

    def _text(self, word: str, end: int) -> None:
        if self.source.startswith(word[-1], end) and word[-2:] == word[-1] * 2:
            raise refused("triple quotes aren't part of the language", self.source, self.position)
        if word[0] in "fF":
            self.texts.append(self._read_f_string(self.position + 2, end - 1, word[-1]))
            self._put_name(f"__{len(self.texts) - 1}", end)
        else:
            self._put(word[0] + quotable(word[1:-1], self.source, self.position) + word[0], end)

    def _operator(self, word: str, end: int) -> None:
        word = word.rstrip(MAY_MISS)
        if word in _CLOSING:
            self.opened.append((word, self.position))
            if len(self.opened) > MOST_DEPTH:
                raise refused(f"this nests deeper than {MOST_DEPTH}", self.source, self.position)
        elif word in _CLOSING.values() and (not self.opened or _CLOSING[self.opened.pop()[0]] != word):
            raise refused(f"{word} closes nothing", self.source, self.position)
        self.follows_value = word in _CLOSING.values()
        self._put(word, end)

    def _read_f_string(self, start: int, stop: int, quote: str) -> ast.JoinedStr:
        """The f-string whose body is given; read here since versions of Python differ in it."""
        origin, parts, literal = self.position, list[ast.expr](), start
        position = start
        while (match := _BRACE.search(self.source, position, stop)) is not None:
            position = match.end()
            if match.group() in ("{{", "}}") or match.group().startswith("\\"):
                continue
            if match.group() == "}":
                raise refused("} stands alone in an f-string: write }}", self.source, match.start())
            parts += self._literal(literal, match.start(), quote)
            read = self.reader.read(match.end(), stop, inside=True)
            form = [ast.Constant(read.format)] if read.format else []
            spec = ast.JoinedStr(values=cast("list[ast.expr]", form)) if form else None
            parts.append(ast.FormattedValue(value=read.tree, conversion=-1, format_spec=spec))
            literal = position = read.stop + 1
        parts += self._literal(literal, stop, quote)
        return place(ast.JoinedStr(values=parts), self.source, origin, stop + 1)

    def _literal(self, start: int, stop: int, quote: str) -> list[ast.expr]:
        """The text between two groups of an f-string."""
        if start >= stop:
            return []
        body = self.source[start:stop].replace("{{", "{").replace("}}", "}")
        written = quote + quotable(body, self.source, start) + quote
        try:
            text = ast.parse(written, mode="eval").body
        except (SyntaxError, ValueError):
            raise refused("a text in an f-string can't be read", self.source, start) from None
        return [place(text, self.source, start, stop)]

    def _put(self, python: str, end: int) -> None:
        """Add a word of Python's text that stands for the source up to `end`."""
        self.starts.append(self.length)
        self.spans.append((self.position, end))
        self.python.append(python)
        self.length += len(python)
        self.position = end

    def _put_name(self, name: str, end: int) -> None:
        """Add a name of Python's that can't run into the words beside it."""
        self._put(" " if self.length else "", self.position)
        self._put(name, end)
        self._put(" ", end)

    def _unreadable(self, error: SyntaxError) -> ComputingSyntax:
        position = self._start((error.offset or 1) - 1)
        near = self.source[position : position + 20].split("\n")[0]
        meant = ": equal is ==" if near.startswith("=") else ""
        return refused(f"this can't be read as an expression near {near!r}{meant}", self.source, position)

    def _start(self, offset: int) -> int:
        """Where in the source stands what begins at this offset of Python's text."""
        index = max(bisect_right(self.starts, offset) - 1, 0)
        start, end = self.spans[index]
        return min(start + offset - self.starts[index], end)

    def _end(self, offset: int) -> int:
        """Where in the source ends what ends at this offset of Python's text."""
        return self.spans[max(bisect_left(self.starts, offset) - 1, 0)][1]

    def _place_nodes(self, tree: ast.expr, text: str) -> ast.expr:
        """The tree with places of the source, and its f-strings put in."""
        letters = _letters(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.keyword):
                start, end = letters[node.col_offset], letters[node.end_col_offset or 0]
                place(node, self.source, self._start(start), self._end(end))
        return cast("ast.expr", _Filler(self.texts).visit(tree)) if self.texts else tree


_BRACE = re.compile(r"\\.|\{\{|\}\}|[{}]", re.DOTALL)


class _Filler(ast.NodeTransformer):
    """Puts f-strings where names stand for them."""

    def __init__(self, texts: list[ast.JoinedStr]) -> None:
        self.texts = texts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.texts[int(node.id[2:])] if node.id.startswith("__") else node


def _letters(text: str) -> range | list[int]:
    """Python's places count bytes: which character begins, or has ended, at each."""
    if text.isascii():
        return range(len(text) + 1)
    return [index for index, letter in enumerate(text) for _ in letter.encode()] + [len(text)]
