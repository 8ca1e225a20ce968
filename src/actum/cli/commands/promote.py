"""`actum promote`: a version taken over by another branch (X4)."""

from __future__ import annotations

from ...ideas.store import MAIN, parse_address
from ..options import IdeaStore, branch_of, library_of
from .save import tell_saved


async def actum_promote(address: str, /, *, to: str = MAIN, note: str = "", store: IdeaStore = None) -> None:
    """Save a version as the next one of another branch.

    Parameters
    ----------
    address
        The version.
    to
        The branch.
    note
        A word on why.
    """
    version, branch = parse_address(address), branch_of(to)
    async with library_of(store) as library:
        tell_saved(await library.promote(version, branch, note=note))
