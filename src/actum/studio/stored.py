"""The Ideas of a store, listed and opened by their addresses, with their versions (X3, X4)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ..app.idea import Idea
from ..errors import ActumError, IdeaNotFound
from ..ideas.file import write_idea
from ..ideas.library import Change, Library, change_between
from ..ideas.store import MAIN, SCHEME, Address, Line, parse_address
from ..schema.quoting import printable
from ..storage.open import local_path, open_store
from .shelf import IdeaListed, listed_as

_MOST_VERSIONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionListed:
    """A version of an Idea in the store, and how it changes the Idea for its users."""

    address: str
    note: str
    change: Change | None


@dataclass(frozen=True, slots=True)
class Stored:
    """The Ideas of the store at a place; a store that doesn't exist isn't created."""

    place: str

    async def listed(self, words: str, start: int, most: int) -> tuple[Sequence[IdeaListed], int]:
        """A page of the Ideas whose address contains these words, and how many there are.

        Each Idea is listed once, on the main branch if it has one.
        """
        if not self._exists:
            return (), 0
        async with self._library() as library:
            lines = await library.store.lines()
            keys = [key for key in _keys(lines) if words.lower() in key.lower()]
            ideas: list[IdeaListed] = []
            for key in keys[start : start + most]:
                try:
                    entry, text = await library.load(parse_address(key))
                    idea = Idea.read(write_idea(text), key)
                    ideas.append(listed_as(key, idea, str(entry.version)))
                except ActumError as error:
                    ideas.append(IdeaListed(key=key, problem=error.message))
        return ideas, len(keys)

    async def open(self, key: str) -> Idea:
        """The Idea at an address.

        Raises:
            IdeaError: there is none, or it can't be read.
        """
        address = parse_address(key)
        if not self._exists:
            raise IdeaNotFound(f"{address} wasn't found: the store doesn't exist yet")
        async with self._library() as library:
            entry, text = await library.load(address)
        return Idea.read(write_idea(text), str(entry.address))

    async def versions(self, path: object) -> Sequence[VersionListed]:
        """The last versions of the Idea with this path or address, the newest first; none if the store has none."""
        if not isinstance(path, str) or not self._exists:
            return ()
        try:
            address = parse_address(path if path.startswith(SCHEME) else f"{SCHEME}{path}")
            async with self._library() as library:
                return await _versions(library, address)
        except ActumError:
            return ()

    @property
    def _exists(self) -> bool:
        path = local_path(self.place)
        return path is None or path.exists()

    @asynccontextmanager
    async def _library(self) -> AsyncGenerator[Library]:
        store = open_store(self.place)
        try:
            yield Library(store=store)
        finally:
            await store.aclose()


def is_address(key: str) -> bool:
    """Whether a key of the list is an address in a store."""
    return key.startswith(SCHEME)


def _keys(lines: Sequence[Line]) -> list[str]:
    """The address of each Idea, once; the branch is named unless it is the main one."""
    branches: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        branches.setdefault((line.domain, line.path), []).append(line.branch)
    return [
        str(Address(domain=domain, path=path, branch=None if MAIN in branches_of else branches_of[0]))
        for (domain, path), branches_of in branches.items()
    ]


async def _versions(library: Library, address: Address) -> Sequence[VersionListed]:
    latest = await library.find(address)
    entries = await library.store.entries(latest.line, latest.sequence + 1, _MOST_VERSIONS + 1)
    texts = [(await library.load(entry.address))[1] for entry in entries]
    versions: list[VersionListed] = []
    for at, entry in enumerate(entries[:_MOST_VERSIONS]):
        change = change_between(texts[at + 1], texts[at]) if at + 1 < len(texts) else None
        versions.append(VersionListed(address=str(entry.address), note=printable(entry.note or ""), change=change))
    return versions
