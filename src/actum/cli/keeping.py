"""Runs of a store as files, for the commands that read the file of a kept run."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .options import runs_at


@asynccontextmanager
async def kept_at(run: str, store: str | None) -> AsyncGenerator[str]:
    """The file of a run: its own, or, of one in a store, one that is there as long as the block.

    Raises:
        RunError: there is no such run in the store.
    """
    if store is None:
        yield run
        return
    async with runs_at(store) as runs:
        found = await runs.get(run)
        # Below the current folder, so that what the run's Idea names there may be read, as for one's own file (D17).
        with TemporaryDirectory(prefix=".actum-", dir=Path.cwd()) as folder:
            path = Path(folder) / f"{found.id}.json"
            await found.save(path)
            yield str(path)
