"""`actum import`: the Ideas of a file or a folder, saved in a store (X3)."""

from __future__ import annotations

from pathlib import Path

from ...app.loading import IDEA_FILES
from ...ideas.file import IdeaText, read_idea
from ...ideas.store import Address, parse_address
from ...sources.files import read_text
from ..options import CommandError, IdeaStore, branch_of, library_of
from .save import tell_saved


async def actum_import_ideas(folder: str, /, *, branch: str | None = None, store: IdeaStore = None) -> None:
    """Save every Idea of a file or a folder, each under its meta.path, else under its file's name.

    Parameters
    ----------
    folder
        A file, or a folder with *.json, *.yaml and *.yml.
    branch
        The branch to save them on.
    """
    ideas = _ideas_below(Path(folder))
    async with library_of(store, makes=True) as library:
        for path, text in ideas:
            tell_saved(await library.save(text, Address(path=path, branch=branch and branch_of(branch))))


def _ideas_below(top: Path) -> list[tuple[str, IdeaText]]:
    """The Ideas of a file or a folder with their paths; all are checked before one is saved."""
    files = [top] if top.is_file() else sorted(path for path in top.rglob("*") if path.suffix in IDEA_FILES)
    if not files:
        raise CommandError(f"there is no Idea at {top}")
    base = top.parent if top.is_file() else top
    ideas: list[tuple[str, IdeaText]] = []
    for file in files:
        text = read_idea(read_text(file), str(file))
        name = text.meta.get("path") or file.relative_to(base).with_suffix("").as_posix()
        ideas.append((parse_address(f"idea:{name}").path, text))
    return ideas
