"""`actum save | log | resolve | diff | branch | promote | export | import`: Ideas in a store (X3, X4)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..ideas.address import MAIN, Address, check_name, parse_address
from ..ideas.change import change_between
from ..ideas.file import IdeaText, read_idea
from ..ideas.library import Library, Saved, moment, shown_moment
from ..ideas.store import Entry
from ..ideas.ticks import RUN
from ..sources.files import read_text, write_bytes
from ..storage.open import default_store, open_store
from .comparing import side_by_side
from .failing import CommandError
from .lines import printable
from .loading import IDEA_FILES

StoreName = Annotated[str | None, Parameter(name="--store")]


async def save(
    idea: str, address: str | None = None, /, *, branch: str | None = None, note: str = "", store: StoreName = None
) -> int:
    """Save an Idea as the next version; how far its number is raised, the change of its schemas says.

    Parameters
    ----------
    idea
        The Idea's file.
    address
        Where it is saved, such as idea:people/ana; without one, where its meta.path says.
    branch
        The branch it is saved on.
    note
        A word on why.
    store
        The store: sqlite:FILE, a folder or postgresql://…; else ACTUM_STORE, else .actum/ideas.db.
    """
    text = read_idea(read_text(Path(idea)), idea)
    target = parse_address(address) if address is not None else _own_address(text, idea)
    if branch is not None:
        target = Address(domain=target.domain, path=target.path, branch=_branch(branch))
    async with library_of(store) as library:
        _say(await library.save(text, target, note=note))
    return 0


async def log(address: str, /, *, most: int = 20, store: StoreName = None) -> int:
    """List the versions of an Idea on one branch, the last first.

    Parameters
    ----------
    address
        The Idea's address.
    most
        How many are listed.
    store
        The store, as for `actum save`.
    """
    async with library_of(store) as library:
        found = await library.find(parse_address(address))
        for entry in await library.store.entries(found.line, found.sequence + 1, most):
            print(_described(entry))
    return 0


async def resolve(
    address: str, /, *, at: str | None = None, search: list[str] | None = None, store: StoreName = None
) -> int:
    """Print the exact address that an address means, which will always give the same bytes.

    Parameters
    ----------
    address
        The Idea's address.
    at
        A moment, such as 2026-11-20T12:00:00Z: what was saved later isn't seen.
    search
        The branches that are looked at, in order; `main` where none is named.
    store
        The store, as for `actum save`.
    """
    async with library_of(store, search or [MAIN], at) as library:
        print((await library.find(parse_address(address))).address)
    return 0


async def diff(old: str, new: str, /, *, store: StoreName = None) -> int:
    """Say what changes between two Ideas, and whom it breaks; two kept runs are shown side by side.

    Parameters
    ----------
    old
        An address, or a file.
    new
        Another.
    store
        The store, as for `actum save`.
    """
    async with library_of(store) as library:
        one, other = await _text(library, old), await _text(library, new)
    if RUN in one.meta and RUN in other.meta:
        for line in side_by_side(one, old, other, new):
            print(line)
        return 0
    change = change_between(one, other)
    print(change.kind)
    for reason in change.reasons:
        print(f"  {printable(reason)}")
    return 0


async def branch(name: str, address: str, /, *, store: StoreName = None) -> int:
    """Begin a branch of an Idea at a version.

    Parameters
    ----------
    name
        The branch.
    address
        The version that it begins with.
    store
        The store, as for `actum save`.
    """
    async with library_of(store) as library:
        print((await library.branch(_branch(name), parse_address(address))).address)
    return 0


async def promote(address: str, /, *, to: str = MAIN, note: str = "", store: StoreName = None) -> int:
    """Save a version as the next one of another branch.

    Parameters
    ----------
    address
        The version.
    to
        The branch.
    note
        A word on why.
    store
        The store, as for `actum save`.
    """
    async with library_of(store) as library:
        _say(await library.promote(parse_address(address), _branch(to), note=note))
    return 0


async def export(address: str, file: str, /, *, store: StoreName = None) -> int:
    """Write a version into a file, byte for byte as the store holds it.

    Parameters
    ----------
    address
        The version.
    file
        The file; one that stands there is replaced whole or not at all.
    store
        The store, as for `actum save`.
    """
    async with library_of(store) as library:
        entry = await library.find(parse_address(address))
        write_bytes(Path(file), await library.store.content(entry.digest))
        print(entry.address)
    return 0


async def import_ideas(folder: str, /, *, branch: str | None = None, store: StoreName = None) -> int:
    """Save every Idea of a file or a folder, each under the path that its meta says, else under its file's name.

    Parameters
    ----------
    folder
        A file, or a folder with *.json, *.yaml and *.yml.
    branch
        The branch they are saved on.
    store
        The store, as for `actum save`.
    """
    found = _ideas_below(Path(folder))
    async with library_of(store) as library:
        for path, text in found:
            _say(await library.save(text, Address(path=path, branch=branch and _branch(branch))))
    return 0


def _ideas_below(top: Path) -> list[tuple[str, IdeaText]]:
    """The Ideas of a file or a folder, and the path of each; all are judged before one is saved."""
    files = [top] if top.is_file() else sorted(one for one in top.rglob("*") if one.suffix in IDEA_FILES)
    if not files:
        raise CommandError(f"{top}: no Idea stands there")
    base = top.parent if top.is_file() else top
    found: list[tuple[str, IdeaText]] = []
    for file in files:
        text = read_idea(read_text(file), str(file))
        name = text.meta.get("path") or file.relative_to(base).with_suffix("").as_posix()
        found.append((parse_address(f"idea:{name}").path, text))
    return found


@asynccontextmanager
async def library_of(
    store: str | None, branches: list[str] | None = None, at: str | None = None
) -> AsyncGenerator[Library]:
    """The library that a command works with; what was opened is closed again."""
    opened = open_store(store or default_store())
    try:
        yield Library(store=opened, branches=branches or [MAIN], at=moment(at) if at is not None else None)
    finally:
        await opened.aclose()


def _own_address(text: IdeaText, name: str) -> Address:
    path = text.meta.get("path")
    if not isinstance(path, str):
        raise CommandError(f"{name} says no meta.path: name the address, such as idea:people/ana")
    return parse_address(f"idea:{path}")


def _branch(name: str) -> str:
    check_name(name, name)
    return name


async def _text(library: Library, name: str) -> IdeaText:
    if name.startswith("idea:"):
        return (await library.load(parse_address(name)))[1]
    return read_idea(read_text(Path(name)), name)


def _described(entry: Entry) -> str:
    note = f"  {printable(entry.note)}" if entry.note else ""
    return f"{entry.address}  {shown_moment(entry.created_at)}  {entry.digest[:12]}{note}"


def _say(saved: Saved) -> None:
    print(saved.entry.address if saved.is_new else f"{saved.entry.address}  (nothing changed)")
    for reason in saved.change.reasons if saved.is_new else ():
        print(f"  {saved.change.kind}: {printable(reason)}")
