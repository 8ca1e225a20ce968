"""`actum fmt`: Ideas in the one layout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..ideas.file import parse_text, read_idea
from ..ideas.layout import laid_out
from ..sources.files import read_text, write_text
from .failing import CommandError


def fmt(*ideas: str, check: Annotated[bool, Parameter(negative="")] = False) -> int:
    """Lay out Ideas in the one way that `actum` writes them, so that their differences are small.

    Parameters
    ----------
    ideas
        JSON files.
    check
        Change nothing, and end with 1 if a file is laid out otherwise.
    """
    if not ideas:
        raise CommandError("name the Ideas to lay out")
    files = [(Path(name), *_texts(name)) for name in ideas]  # all are read before one is written
    others = [(path, laid) for path, text, laid in files if text != laid]
    for path, laid in others:
        print(f"{path}: {'is laid out otherwise' if check else 'laid out'}", file=sys.stderr)
        if not check:
            write_text(path, laid)
    return 1 if check and others else 0


def _texts(name: str) -> tuple[str, str]:
    if name.endswith((".yaml", ".yml")):
        raise CommandError(f"{name}: only JSON is laid out; `actum` writes no YAML")
    text = read_text(Path(name))
    read_idea(text, name)
    return text, laid_out(parse_text(text, name))
