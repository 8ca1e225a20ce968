"""What a function's docstring says of it and of its parameters, in the forms of Google, NumPy and reST."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

_SECTION = re.compile(
    r"""
    ^(?: (?P<GOOGLE> (?:Args|Arguments|Params|Parameters):[ \t]*\n (?:[ \t]*\n)* [ \t]+\S (?:.*\n(?=\s))* .* )
       | (?P<NUMPYDOC> (?:Other[ ])?Parameters[ \t]*\n---  [\s\S]* )
       | (?P<REST> :(?:param|parameter|arg|argument|key|keyword)[ ][^:\n]+:  [\s\S]* ) )
    """,
    re.MULTILINE | re.VERBOSE,
)
"""A section of parameters, named as `docstring_parser` names its form, up to where another may begin."""


def documented(function: Callable[..., Any]) -> tuple[str | None, dict[str, str]]:
    """What stands before the parameters in a function's docstring, and the text of each parameter by its name.

    A section that isn't well-formed is part of the text.
    """
    text = inspect.getdoc(function)
    section = _SECTION.search(text) if text else None
    if not text or not section:
        return text, {}
    parameters = _parameters(section.group(), section.lastgroup or "")
    return (text[: section.start()].rstrip(), parameters) if parameters is not None else (text, {})


def _parameters(section: str, form: str) -> dict[str, str] | None:
    from docstring_parser import DocstringStyle, ParseError, parse

    try:
        # Behind an empty line: the indentation of a first line would not be counted.
        entries = parse(f"\n{section}", DocstringStyle[form]).params
    except ParseError:
        return None
    texts = {name.lstrip("*"): entry.description for entry in entries for name in entry.arg_name.split(", ")}
    if not texts or not all(map(str.isidentifier, texts)):
        return None
    return {name: text for name, text in texts.items() if text}
