"""`actum branch`: a branch of an Idea begun at a version (X4)."""

from __future__ import annotations

from ...ideas.store import parse_address
from ..options import IdeaStore, branch_of, library_of
from ..render.terminal import say


async def actum_branch(name: str, address: str, /, *, store: IdeaStore = None) -> None:
    """Begin a branch of an Idea at a version.

    Parameters
    ----------
    name
        The branch.
    address
        The version that it begins with.
    """
    branch, start = branch_of(name), parse_address(address)
    async with library_of(store) as library:
        say((await library.branch(branch, start)).address)
