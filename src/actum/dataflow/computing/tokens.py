"""The words of an expression (E2), found before Python's parser sees any: so no source is too deep or too long for it,
and what is read is the same on every version of Python."""

from __future__ import annotations

import keyword
import re
import unicodedata

from ..reference import SIGIL, Reference, clip

MOST_CHARACTERS = 4_000
MOST_DEPTH = 60

COUNTED_KINDS = ("calls", "results")
"""The kinds whose values are named by a number."""
ITEM_KIND = "each"
ERROR_KIND = "error"
"""What `†error` begins with: in an `_else`, the kind of the failure (C14)."""


class ComputingSyntax(ValueError):
    """A group that can't be read, or a † where none may be: what is wrong, where, and what would be right."""


def refused(reason: str, source: str, position: int | None = None) -> ComputingSyntax:
    """What is wrong with a source, and where."""
    where = "in" if position is None else f"at character {position} of"
    return ComputingSyntax(f"{reason}, {where} {{{clip(' '.join(source.split()))}}}")


TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    | (?P<text>[fF]?(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"))
    | (?P<reference>†)
    | (?P<index>\.[0-9]+(?!\w))
    | (?P<key>\.[ \t\r\n]*+[^\W\d]\w*+(?:\?(?![?.\w'"\[(†]))?+)
    | (?P<name>[^\W\d]\w*+)
    | (?P<number>[0-9][0-9_]*+(?:\.[0-9_]*+)?(?:[eE][+-]?[0-9]++)?(?!\w))
    | (?P<refused><\|>|\*\*|<<|>>|:=|===|!==|&&|\|\||->|=>|\?\?|\?\.)
    | (?P<operator>\]\?(?![?.\w'"\[(†])|==|!=|<=|>=|//|[-+*/%<>,:=()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)

_INSTEAD = {
    "<|>": "a <|> b stands alone, without braces",
    "**": "write a product",
    "&&": "write and",
    "||": "write or",
    "!": "write not",
    "===": "write ==",
    "!==": "write !=",
    "?": "write a if c else b; a key that may be missing is .key?",
    "??": "write a or b",
    "?.": "write .: what is declared as optional and missing is None",
    "=>": "write [… for x in xs]; lambda x: … behind key= only",
    ";": "write one expression",
    "`": "write f'…{x}…'",
    "&": "write and",
    "|": "write or",
    ":=": "bind a name by for name in [value]",
    "\\": "a backslash stands inside of quotes only",
    "'": "the quote isn't closed, or stands in a text that it encloses",
    '"': "the quote isn't closed, or stands in a text that it encloses",
    "“": "write a straight quote",
    "”": "write a straight quote",
    "‘": "write a straight quote",
    "’": "write a straight quote",
}


def unexpected(source: str, position: int, word: str) -> ComputingSyntax:
    """The refusal of a word that the language doesn't have."""
    hint = _INSTEAD.get(word, "write one expression, without statements" if keyword.iskeyword(word) else "")
    return refused(f"{word} isn't part of the language{f' ({hint})' if hint else ''}", source, position)


_WORDS = frozenset({"and", "or", "not", "in", "is", "if", "else", "for", "lambda", "None", "True", "False"})
_PREFIXES = frozenset({"r", "u", "b", "t", "rb", "br", "fr", "rf", "tr", "rt"})


def check_word(source: str, position: int, name: str) -> None:
    """Refuse a word that isn't a name of the language.

    Raises:
        ComputingSyntax: for statements' keywords, prefixes of texts, and names that stand for something else.
    """
    after = source[position + len(name) : position + len(name) + 1]
    if (keyword.iskeyword(name) and name not in _WORDS) or (name.lower() in _PREFIXES and after in ("'", '"')):
        raise unexpected(source, position, name)
    if "__" in name or name.startswith("ref_"):
        raise refused(f"{name} can't be a name: choose one without __ that doesn't begin with ref_", source, position)
    check_letters(source, position, name)


def check_letters(source: str, position: int, name: str) -> None:
    """Refuse a name that Python would read as another one.

    Raises:
        ComputingSyntax: naming the letters.
    """
    if not name.isascii() and (unicodedata.normalize("NFKC", name) != name or not name.isidentifier()):
        raise refused(f"{name} would be read as another name: write a key as ['{name}']", source, position)


def key_as_python(source: str, position: int, key: str) -> str:
    """`.key`, or `['key']` where Python has another use for the word.

    Raises:
        ComputingSyntax: a key that has to be written as a subscript.
    """
    if key.startswith("__"):
        raise refused(f"the key {key} must be written as ['{key}']", source, position)
    check_letters(source, position, key)
    return f"['{key}']" if keyword.iskeyword(key) else f".{key}"


_KIND = re.compile(r"[^\W\d]\w*+")
_NUMBER = re.compile(r"\.([0-9]{1,9})(?!\w)|\[[ \t\r\n]*([0-9]{1,9})[ \t\r\n]*\]")
_SEGMENT = re.compile(r"""(?:\.([^\W\d]\w*+)|\[(?:"([^"\\]*+)"|'([^'\\]*+)')\])(?!\s*\(|\?(?![?.]))""")


def scan(source: str, start: int) -> tuple[Reference, int]:
    """The reference whose † stands at `start`, as far as it names what has to be there, and where it ends.

    Raises:
        ComputingSyntax: no kind follows, or no number where a kind needs one.
    """
    kind = _KIND.match(source, start + 1)
    if kind is None:
        raise refused(f"no name follows {SIGIL}", source, start)
    position = kind.end()
    if kind.group() == ITEM_KIND:
        return Reference(ITEM_KIND), position
    if kind.group() in COUNTED_KINDS:
        number = _NUMBER.match(source, position)
        if number is None:
            raise refused(f"{SIGIL}{kind.group()} needs a number: {SIGIL}{kind.group()}.0", source, start)
        return Reference(kind.group(), (int(number[1] or number[2]),)), number.end()
    path: list[str] = []
    while segment := _SEGMENT.match(source, position):
        path.append(next(part for part in segment.groups() if part is not None))
        position = segment.end()
    return Reference(kind.group(), tuple(path)), position


_ESCAPE = re.compile(
    r"""\\(?P<kept>[\\'"abfnrtv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|\\(?P<other>.)|(?P<control>[\x00-\x1f\x7f])""",
    re.DOTALL,
)


def quotable(body: str, source: str, position: int) -> str:
    """What stands between quotes, as every Python reads it: JSON's line breaks are escaped anew.

    Raises:
        ComputingSyntax: an escape that isn't part of the language.
    """

    def escape(match: re.Match[str]) -> str:
        if match["kept"]:
            return match[0]
        if match["control"]:
            return f"\\x{ord(match[0]):02x}"
        if match["other"] in "NxuU0123456789" or not match["other"].isprintable():
            raise refused("a text holds an escape that isn't part of the language", source, position)
        return f"\\\\{match['other']}"

    return _ESCAPE.sub(escape, body)
