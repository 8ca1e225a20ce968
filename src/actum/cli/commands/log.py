"""`actum log`: the versions of an Idea (X3)."""

from __future__ import annotations

from ...ideas.library import shown_moment
from ...ideas.store import StoredVersion, parse_address
from ...schema.quoting import printable
from ..options import IdeaStore, library_of
from ..render.terminal import say


async def actum_log(address: str, /, *, most: int = 20, store: IdeaStore = None) -> None:
    """List the versions of an Idea on one branch, the newest first.

    Parameters
    ----------
    address
        The Idea's address.
    most
        How many to list.
    """
    version = parse_address(address)
    async with library_of(store) as library:
        last = await library.find(version)
        for entry in await library.store.entries(last.line, last.sequence + 1, most):
            say(_describe(entry))


def _describe(entry: StoredVersion) -> str:
    note = f"  {printable(entry.note)}" if entry.note else ""
    return f"{entry.address}  {shown_moment(entry.created_at)}  {entry.digest[:12]}{note}"
