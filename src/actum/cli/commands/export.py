"""`actum export`: a version as a file (X4)."""

from __future__ import annotations

from pathlib import Path

from ...ideas.store import parse_address
from ...sources.files import write_bytes
from ..keeping import run_at
from ..options import library_of
from ..render.terminal import say


async def actum_export(address: str, file: str, /, *, store: str | None = None) -> None:
    """Write a version of an Idea into a file, byte for byte as the store holds it; or a run that was submitted.

    A run is written as `actum run --save` keeps one: `why`, `replay`, `fork` and `diff` take the file.

    Parameters
    ----------
    address
        The version, by its address; or a run, by its id.
    file
        The file; one that exists is replaced whole or not at all.
    store
        The store, as for `actum save`; of a run, where it is kept, as for `actum submit`.
    """
    if not address.startswith("idea:"):
        async with run_at(address, store) as handle:
            await handle.save(file)
        return
    version = parse_address(address)
    async with library_of(store) as library:
        entry = await library.find(version)
        write_bytes(Path(file), await library.store.content(entry.digest))
        say(entry.address)
