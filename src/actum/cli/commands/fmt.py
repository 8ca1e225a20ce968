"""`actum fmt`: Ideas in the one layout."""

from __future__ import annotations

from pathlib import Path

from ...ideas.file import parse_text, read_idea
from ...ideas.layout import laid_out
from ...sources.files import read_text, write_text
from ..options import CommandError
from ..render.terminal import tell


def actum_fmt(*ideas: str, check: bool = False) -> int:
    """Lay out Ideas the one way that `actum` writes them, so that their differences are small.

    Parameters
    ----------
    ideas
        JSON files.
    check
        Change nothing, and end with 1 if a file has another layout.
    """
    if not ideas:
        raise CommandError("name the Ideas to lay out")
    files = [(Path(name), *_texts(name)) for name in ideas]  # all are read before one is written
    changed = [(path, formatted) for path, text, formatted in files if text != formatted]
    for path, formatted in changed:
        tell(f"{path}: {'not in the standard layout' if check else 'laid out'}")
        if not check:
            write_text(path, formatted)
    return 1 if check and changed else 0


def _texts(name: str) -> tuple[str, str]:
    if name.endswith((".yaml", ".yml")):
        raise CommandError(f"{name}: only JSON can be laid out: `actum` writes no YAML")
    text = read_text(Path(name))
    read_idea(text, name)
    return text, laid_out(parse_text(text, name))
