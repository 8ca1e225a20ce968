"""`actum resolve`: the version that an address means (X4)."""

from __future__ import annotations

from ...ideas.store import MAIN, parse_address
from ..options import IdeaStore, library_of
from ..render.terminal import say


async def actum_resolve(
    address: str, /, *, at: str | None = None, search: list[str] | None = None, store: IdeaStore = None
) -> None:
    """Print the exact address that an address means, which will always give the same bytes.

    Parameters
    ----------
    address
        The Idea's address.
    at
        A moment, for example 2026-11-20T12:00:00Z: versions saved later are not seen.
    search
        The branches to look at, in order; `main` if none is named.
    """
    version = parse_address(address)
    async with library_of(store, search or [MAIN], at) as library:
        say((await library.find(version)).address)
