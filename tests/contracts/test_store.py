"""What every store of Ideas does: one suite for SQLite, for a folder, and for a real PostgreSQL."""

from __future__ import annotations

import asyncio
import itertools
import sys
import uuid
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from actum import errors
from actum.ideas.file import IdeaText
from actum.ideas.library import Library, as_microseconds
from actum.ideas.store import Address, Draft, Line, Store, StoredVersion, Version, parse_address
from actum.storage.open import open_store

from .. import warm

pytestmark = pytest.mark.rule("X3", "X4")


@pytest.fixture(params=["sqlite", "folder", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    match request.param:
        case "sqlite":
            return f"sqlite:{tmp_path / 'ideas.db'}"
        case "folder":
            return str(tmp_path / "ideas")
        case _:
            return request.getfixturevalue("server").url


@pytest.fixture
async def store(url: str) -> AsyncGenerator[Store]:
    opened = open_store(url)
    yield opened
    await opened.aclose()


def fresh(branch: str = "main", domain: str = "") -> Line:
    """A line that no other test writes, also where all share one database."""
    return Line(domain=domain, path=f"test/{uuid.uuid4().hex}", branch=branch)


def draft(line: Line, version: str, content: str = "{}", **more: Any) -> Draft:
    return Draft(line=line, version=Version(*map(int, version.split("."))), content=content.encode(), **more)


async def filled(store: Store, line: Line, *versions: str) -> list[StoredVersion]:
    entries: list[StoredVersion] = []
    for version in versions:
        after = entries[-1].sequence if entries else None
        entry = await store.append(draft(line, version, f'{{"v":"{version}"}}'), after)
        assert entry is not None
        entries.append(entry)
    return entries


async def test_what_was_appended_is_there_with_its_content(store: Store) -> None:
    line = fresh(domain="example.com")
    entry = await store.append(draft(line, "1.0.0", "†content", note="because"), None)
    assert entry is not None
    assert (entry.line, str(entry.version), entry.note, entry.parent) == (line, "1.0.0", "because", None)
    assert await store.latest(line) == entry
    assert (await store.content(entry.digest)).decode() == "†content"
    assert str(entry.address) == f"idea://example.com/~main/{line.path}?1.0.0"


async def test_nothing_is_there_before(store: Store) -> None:
    line = fresh()
    assert await store.latest(line) is None
    assert await store.entries(line) == []
    with pytest.raises(errors.IdeaError, match="missing or damaged"):
        await store.content("0" * 64)


async def test_an_append_behind_another_end_than_was_expected_changes_nothing(store: Store) -> None:
    line = fresh()
    (first,) = await filled(store, line, "1.0.0")
    for after in (None, first.sequence + 1, first.sequence - 1):
        assert await store.append(draft(line, "1.0.1"), after) is None
    assert await store.entries(line) == [first]


async def test_the_latest_of_a_version_and_of_a_moment(store: Store) -> None:
    line = fresh()
    entries = await filled(store, line, "1.0.0", "1.0.1", "1.1.0", "1.1.1", "1.10.0", "2.0.0", "2.0.1")
    by = {str(entry.version): entry for entry in entries}
    for version, expected in {
        (): "2.0.1", (1,): "1.10.0", (1, 0): "1.0.1", (1, 1): "1.1.1", (1, 1, 0): "1.1.0", (2, 0): "2.0.1",
    }.items():  # fmt: skip
        assert await store.latest(line, version) == by[expected]
    for version in ((3,), (1, 2), (0,), (2, 0, 2), (1, 0, 5)):
        assert await store.latest(line, version) is None
    for known, at in itertools.pairwise(entries):
        assert await store.latest(line, (), known.created_at) == known
        assert await store.latest(line, (), at.created_at - 1) == known
    assert await store.latest(line, (1, 1), by["1.1.0"].created_at) == by["1.1.0"]
    assert await store.latest(line, (), entries[0].created_at - 1) is None
    assert await store.latest(line, (2,), by["1.10.0"].created_at) is None


async def test_moments_and_sequences_rise_strictly(store: Store) -> None:
    line, other = fresh(), fresh()
    entries = [*await filled(store, line, *(f"1.0.{n}" for n in range(20))), *await filled(store, other, "1.0.0")]
    assert all(a.created_at < b.created_at and a.sequence < b.sequence for a, b in itertools.pairwise(entries))


async def test_entries_come_in_pages_from_the_last(store: Store) -> None:
    line = fresh()
    entries = await filled(store, line, *(f"1.0.{n}" for n in range(25)))
    pages: list[StoredVersion] = []
    before = None
    while page := await store.entries(line, before, 7):
        pages += page
        before = page[-1].sequence
    assert pages == entries[::-1]


async def test_all_lines_are_found_in_order(store: Store) -> None:
    top = f"t{uuid.uuid4().hex}"
    paths = [f"{top}/a", f"{top}/a/b", f"{top}/ab", top, f"{top}x"]
    for path in paths:
        for branch in ("main", "dev"):
            await filled(store, Line(domain="", path=path, branch=branch), "1.0.0")
    await filled(store, Line(domain="else.where", path=top, branch="main"), "1.0.0")
    lines = [line for line in await store.lines() if line.path.startswith(top)]
    named = [Line(domain="", path=path, branch=branch) for path in sorted(paths) for branch in ("dev", "main")]
    assert lines == [*named, Line(domain="else.where", path=top, branch="main")]


async def test_writers_at_once_in_one_process_lose_nothing(store: Store) -> None:
    line = fresh()
    address = Address(path=line.path)
    library = Library(store=store)
    saves = [library.save(IdeaText(context=[], solution={"output": number}), address) for number in range(20)]
    saved = await asyncio.gather(*saves)
    entries = (await store.entries(line))[::-1]
    assert [str(entry.version) for entry in entries] == [f"1.0.{number}" for number in range(20)]
    assert {result.entry.sequence for result in saved} == {entry.sequence for entry in entries}
    assert [entry.parent for entry in entries] == [None, *(entry.sequence for entry in entries[:-1])]


WRITER = """
import asyncio, sys
from actum.ideas.store import Address
from actum.ideas.file import IdeaText
from actum.ideas.library import Library
from actum.storage.open import open_store

async def main(url, path, who, count):
    store = open_store(url)
    library = Library(store=store)
    for number in range(count):
        saved = await library.save(IdeaText(context=[], solution={"output": [who, number]}), Address(path=path))
        print(saved.entry.version, who, number)
    await store.aclose()

asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
"""


async def test_eight_processes_at_once_lose_nothing_and_never_get_the_same_version(url: str, store: Store) -> None:
    line = fresh()
    each, writers = 8, 8
    commands = [[sys.executable, "-c", WRITER, url, line.path, str(writer), str(each)] for writer in range(writers)]
    printed: list[str] = []
    for ended in await asyncio.gather(*(asyncio.to_thread(warm.run, command, timeout=110) for command in commands)):
        assert ended.returncode == 0, ended.stderr
        printed += ended.stdout.splitlines()
    versions = [line.split(" ")[0] for line in printed]
    assert len(versions) == len(set(versions)) == each * writers
    entries = (await store.entries(line, None, 1_000))[::-1]
    assert [str(entry.version) for entry in entries] == [f"1.0.{number}" for number in range(each * writers)]
    assert [entry.parent for entry in entries] == [None, *(entry.sequence for entry in entries[:-1])]
    outputs = [(await Library(store=store).load(entry.address))[1].solution for entry in entries]
    assert sorted(str(output) for output in outputs) == sorted(
        str({"output": [str(writer), number]}) for writer in range(writers) for number in range(each)
    )


async def test_a_library_versions_branches_and_promotes(store: Store) -> None:
    library = Library(store=store)
    address = Address(path=fresh().path)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    wider = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]}
    first = await library.save(IdeaText(context=[], schema=schema), address)
    same = await library.save(IdeaText(context=[], schema=schema), address)
    answered = await library.save(IdeaText(context=[], schema=schema, solution={"output": {"a": "x"}}), address)
    broken = await library.save(IdeaText(context=[], schema=wider), address)
    assert [str(result.entry.version) for result in (first, same, answered, broken)] == [
        "1.0.0",
        "1.0.0",
        "1.0.1",
        "2.0.0",
    ]
    assert [result.is_new for result in (first, same, answered, broken)] == [True, False, True, True]
    assert broken.change.reasons == ('output.a: type was "string", is ["string","null"]: breaks readers',)
    begun = await library.branch("dev", parse_address(f"{address}?1.0"))
    assert (str(begun.version), begun.parent) == ("1.0.1", answered.entry.sequence)
    with pytest.raises(errors.IdeaError, match="'dev' already has"):
        await library.branch("dev", address)
    on_dev = await library.save(
        IdeaText(context=[{"type": "text", "text": "new"}], schema=schema), Address(path=address.path, branch="dev")
    )
    assert str(on_dev.entry.version) == "1.0.2"
    assert str((await library.find(address)).version) == "2.0.0"
    layered = Library(store=store, branches=["dev", "main"])
    assert str((await layered.find(address)).version) == "1.0.2"
    promoted = await library.promote(on_dev.entry.address, "main")
    assert str(promoted.entry.version) == "2.1.0", "readers of 2.0.0 can read what is narrower"
    assert (await library.load(address))[1].context == [{"type": "text", "text": "new"}]
    with pytest.raises(errors.IdeaError, match="the store chooses the version"):
        await library.save(IdeaText(context=[]), parse_address(f"{address}?1.0"))


async def test_an_exact_address_gives_the_same_bytes_whatever_is_saved_later_and_whatever_the_cutoff(
    store: Store,
) -> None:
    library = Library(store=store)
    address = Address(path=fresh().path)
    first = await library.save(IdeaText(context=[], solution={"output": 1}), address)
    before = await store.content(first.entry.digest)
    for number in range(3):
        await library.save(IdeaText(context=[], solution={"output": number + 2}), address)
    past = Library(store=store, at=as_microseconds("2001-01-01"))
    for view in (library, past):
        assert await store.content((await view.find(first.entry.address)).digest) == before
    with pytest.raises(errors.IdeaError, match="there is no"):
        await past.find(address)
