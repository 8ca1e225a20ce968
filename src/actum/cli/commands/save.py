"""`actum save`: an Idea saved as the next version in a store (X3)."""

from __future__ import annotations

from pathlib import Path

from ...ideas.file import IdeaText, read_idea
from ...ideas.library import Saved
from ...ideas.store import Address, parse_address
from ...schema.quoting import printable
from ...sources.files import read_text
from ..options import CommandError, branch_of, library_of
from ..render.terminal import say


async def actum_save(
    idea: str, address: str | None = None, /, *, branch: str | None = None, note: str = "", store: str | None = None
) -> None:
    """Save an Idea as the next version; the change of its schemas says how far its number is raised.

    Parameters
    ----------
    idea
        The Idea's file.
    address
        Where to save it, for example idea:people/ana; without one, where its meta.path says.
    branch
        The branch to save it on.
    note
        A word on why.
    store
        The store: sqlite:FILE, a folder or postgresql://…; else ACTUM_STORE, else .actum/ideas.db.
    """
    text = read_idea(read_text(Path(idea)), idea)
    target = parse_address(address) if address is not None else _own_address(text, idea)
    if branch is not None:
        target = Address(domain=target.domain, path=target.path, branch=branch_of(branch))
    async with library_of(store, makes=True) as library:
        tell_saved(await library.save(text, target, note=note))


def _own_address(text: IdeaText, name: str) -> Address:
    path = text.meta.get("path")
    if not isinstance(path, str):
        raise CommandError(f"{name} has no meta.path: name the address, for example idea:people/ana")
    return parse_address(f"idea:{path}")


def tell_saved(saved: Saved) -> None:
    """Print the saved version and what its change means, or that nothing changed."""
    say(saved.entry.address if saved.is_new else f"{saved.entry.address}  (nothing changed)")
    for reason in saved.change.reasons if saved.is_new else ():
        say(f"  {saved.change.kind}: {printable(reason)}")
