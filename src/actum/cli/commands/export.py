"""`actum export`: a version as a file (X4)."""

from __future__ import annotations

from pathlib import Path

from ...ideas.address import parse_address
from ...sources.files import write_bytes
from ..options import StoreName, library_of
from ..render.telling import say


async def export(address: str, file: str, /, *, store: StoreName = None) -> int:
    """Write a version into a file, byte for byte as the store holds it.

    Parameters
    ----------
    address
        The version.
    file
        The file; one that exists is replaced whole or not at all.
    store
        The store, as for `actum save`.
    """
    named = parse_address(address)
    async with library_of(store) as library:
        entry = await library.find(named)
        write_bytes(Path(file), await library.store.content(entry.digest))
        say(entry.address)
    return 0
