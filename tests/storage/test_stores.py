"""Stores of Ideas under hostile hands: damaged, foreign, newer, full, read-only; and what they cost (X3, X4)."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import Agent, Runs, Tools, errors
from actum.ideas.file import IdeaText
from actum.ideas.library import Library
from actum.ideas.store import Address, Draft, Line, Store, StoredVersion, Version, parse_address
from actum.storage import rows
from actum.storage.folder import FolderStore
from actum.storage.open import open_store
from actum.storage.sqlite import SqliteStore
from actum.storage.sqlite_files import mismatch

from ..effort import trials
from .servers import Server

pytestmark = pytest.mark.rule("X3", "X4")
LINE = Line(domain="", path="a/b", branch="main")
HERE = Address(path="a/b")


def url_of(kind: str, folder: Path) -> str:
    return f"sqlite:{folder / 'ideas.db'}" if kind == "sqlite" else str(folder / "ideas")


def idea(number: int) -> IdeaText:
    return IdeaText(context=[], solution={"output": number})


async def saved(store: Store, count: int) -> list[StoredVersion]:
    return [(await Library(store=store).save(idea(number), HERE)).entry for number in range(count)]


both = pytest.mark.parametrize("kind", ["sqlite", "folder"])


# Time travel


@both
@settings(max_examples=trials(25))
@given(data=st.data())
def test_what_was_latest_then_is_what_is_seen_then_whatever_was_saved_later(kind: str, data: st.DataObject) -> None:
    asyncio.run(_travel(kind, data))


async def _travel(kind: str, data: st.DataObject) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        store = open_store(url_of(kind, Path(folder)))
        schemas: list[Any] = [{"type": "string"}, {"type": "integer"}, {"type": ["string", "null"]}]
        known: list[tuple[int, dict[str, StoredVersion]]] = []
        now: dict[str, StoredVersion] = {}
        for number in range(data.draw(st.integers(1, 8))):
            branch = data.draw(st.sampled_from(["main", "dev"]))
            text = IdeaText(context=[], schema=data.draw(st.sampled_from(schemas)), solution={"output": number})
            entry = (await Library(store=store).save(text, Address(path="p", branch=branch))).entry
            now = {**now, branch: entry}
            known.append((entry.created_at, now))
        path = data.draw(st.permutations(["main", "dev"]))
        for at, then in known:
            library = Library(store=store, branches=path, at=at)
            expected = next((then[branch] for branch in path if branch in then), None)
            assert expected is not None
            assert await library.find(Address(path="p")) == expected
            for branch, entry in then.items():
                assert await library.find(Address(path="p", branch=branch)) == entry
                begins = Address(path="p", branch=branch, version=(entry.version.breaking,))
                assert await library.find(begins) == entry
        with pytest.raises(errors.IdeaError):
            await Library(store=store, branches=path, at=known[0][0] - 1).find(Address(path="p"))
        await store.aclose()


# Damage


@both
async def test_a_damaged_content_is_told_and_the_rest_stays(kind: str, tmp_path: Path) -> None:
    store = open_store(url_of(kind, tmp_path))
    first, second = await saved(store, 2)
    if kind == "sqlite":
        with sqlite3.connect(tmp_path / "ideas.db") as database:
            database.execute("UPDATE contents SET content = ? WHERE digest = ?", [b"{}", first.digest])
        database.close()
    else:
        (tmp_path / "ideas/contents" / first.digest[:2] / first.digest).write_bytes(b"{")
    with pytest.raises(errors.IdeaError, match="missing or damaged"):
        await store.content(first.digest)
    assert await store.content(second.digest)
    await store.aclose()


@both
@pytest.mark.parametrize(
    "content", [b"this is a text file, and no store of Ideas at all", b"SQLite format 3\0" + b"\0" * 84]
)
async def test_what_is_no_store_is_told_and_stays_as_it_was(kind: str, tmp_path: Path, content: bytes) -> None:
    where = tmp_path / "ideas.db"
    if kind == "sqlite":
        where.write_bytes(content)
    else:
        (tmp_path / "ideas").mkdir()
        where = tmp_path / "ideas" / "mine.txt"
        where.write_bytes(content)
    store = open_store(url_of(kind, tmp_path))
    with pytest.raises(errors.IdeaError) as caught:
        await saved(store, 1)
    assert "\n" not in caught.value.message
    assert where.read_bytes() == content
    await store.aclose()


async def test_another_database_is_no_store(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "ideas.db") as database:
        database.execute("CREATE TABLE mine (x)")
    database.close()
    store = SqliteStore(tmp_path / "ideas.db")
    with pytest.raises(errors.IdeaError, match="not a store of Ideas"):
        await saved(store, 1)
    await store.aclose()


FOREIGN = [
    ("CREATE TABLE mine (x)", 0, "a database, but not a store of"),
    ("CREATE TABLE mine (x)", 1, "a database, but not a store of"),
    ("CREATE TABLE contents (x); CREATE TABLE entries (x)", 0, "a database, but not a store of"),
    ("CREATE TABLE contents (x); CREATE TABLE entries (x)", 1, "a database, but not a store of"),
    ("CREATE TABLE actum_runs (x)", 99, "a database, but not a store of"),
    ("PRAGMA journal_mode = WAL; CREATE TABLE mine (x)", 7, "a database, but not a store of"),
]


async def runs_at(path: Path) -> None:
    async with Runs(path) as runs:
        await runs.submit({"context": [{"type": "text", "text": "go"}]}, id="one")


async def ideas_at(path: Path) -> None:
    store = SqliteStore(path)
    try:
        await saved(store, 1)
    finally:
        await store.aclose()


async def refused(path: Path, words: str) -> None:
    """Neither kind of store takes a file, and it and its folder stay as they are."""
    before = {file: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    for use in (runs_at, ideas_at):
        with pytest.raises((errors.IdeaError, errors.RunError), match=words) as caught:
            await use(path)
        assert str(path) in caught.value.message
        assert not isinstance(caught.value, errors.StoreUnavailable), "it would be tried again and again"
    assert {file: file.read_bytes() for file in path.parent.iterdir() if file.is_file()} == before


@pytest.mark.parametrize(("script", "version", "words"), FOREIGN)
async def test_nothing_is_written_into_the_database_of_somebody_else(
    tmp_path: Path, script: str, version: int, words: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as database:
        database.executescript(f"{script}; PRAGMA user_version = {version}")
    await refused(tmp_path / "other.db", words)


async def test_what_somebody_else_has_not_taken_up_from_a_journal_stays_there(tmp_path: Path) -> None:
    script = "import sqlite3, os, sys; d = sqlite3.connect(sys.argv[1]); d.execute('PRAGMA journal_mode = WAL'); "
    script += "d.execute('CREATE TABLE mine (x)'); d.commit(); os._exit(0)"
    command = [sys.executable, "-c", script, str(tmp_path / "other.db")]
    await asyncio.to_thread(subprocess.run, command, check=True)
    (tmp_path / "other.db-shm").unlink()  # made anew by whoever reads
    before = {name: (tmp_path / name).read_bytes() for name in ("other.db", "other.db-wal")}
    for use in (runs_at, ideas_at):
        with pytest.raises((errors.IdeaError, errors.RunError), match="a database, but not a store of"):
            await use(tmp_path / "other.db")
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


async def opened(kind: str, path: Path) -> None:
    await (runs_at(path) if kind == "runs" else ideas_at(path))


kinds = pytest.mark.parametrize("kind", ["runs", "ideas"])


@kinds
async def test_who_opens_a_new_file_waits_for_another_that_does(tmp_path: Path, kind: str) -> None:
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # as who makes its tables holds it; there is no journal of its writes yet
        opening = asyncio.ensure_future(opened(kind, tmp_path / "new.db"))
        done, _ = await asyncio.wait({opening}, timeout=0.5)  # who doesn't wait has failed by then
        assert not done
        other.execute("ROLLBACK")
        await opening


@pytest.mark.parametrize("is_there", [True, False])
def test_a_file_is_judged_as_it_is_at_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    place = tmp_path / "mine.db"
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    if not is_there:
        other.close()
        other = sqlite3.connect(place, isolation_level=None)
    else:
        other.execute("PRAGMA user_version")

    class Slow(sqlite3.Connection):
        """Another process makes its tables while this one looks."""

        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            cursor = super().execute(sql, *values)
            if "sqlite_master" in sql and not has_made:
                has_made.append(True)
                other.executescript("BEGIN; CREATE TABLE mine (x); PRAGMA user_version = 1; COMMIT")
                other.close()
            return cursor

    has_made: list[bool] = []
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Slow))
    reason = mismatch(place, "runs")
    assert has_made
    assert reason == (None if is_there else "a database, but not a store of runs")


@kinds
@pytest.mark.parametrize("schema", ["", "CREATE TABLE mine (x)"])
async def test_a_file_whose_writer_was_killed_is_as_before(tmp_path: Path, kind: str, schema: str) -> None:
    script = "import sqlite3, os, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None); d.execute(sys.argv[2]); "
    script += "d.executescript('PRAGMA cache_size = 1; BEGIN; CREATE TABLE actum_runs (x)'); "
    script += "d.executemany('INSERT INTO actum_runs VALUES (?)', [('x' * 9_000,)] * 20); os._exit(0)"
    place = tmp_path / "killed.db"
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", script, str(place), schema], check=True)
    assert place.stat().st_size
    assert place.with_name("killed.db-journal").exists()
    if schema:
        with pytest.raises((errors.IdeaError, errors.RunError), match="a database, but not a store of"):
            await opened(kind, place)
    else:
        await opened(kind, place)


async def test_a_store_of_the_other_kind_says_what_it_is(tmp_path: Path) -> None:
    await runs_at(tmp_path / "runs.db")
    await ideas_at(tmp_path / "ideas.db")
    before = [(tmp_path / name).read_bytes() for name in ("runs.db", "ideas.db")]
    with pytest.raises(errors.IdeaError, match="a store of runs, but not a store of Ideas"):
        await ideas_at(tmp_path / "runs.db")
    with pytest.raises(errors.RunError, match="a store of Ideas, but not a store of runs"):
        await runs_at(tmp_path / "ideas.db")
    assert [(tmp_path / name).read_bytes() for name in ("runs.db", "ideas.db")] == before


async def test_what_is_no_file_of_a_database_or_a_damaged_one_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    await refused(tmp_path / "folder.db", "a folder, where a")
    (tmp_path / "text.db").write_text("no database " * 100)
    await refused(tmp_path / "text.db", "not a database; name another file")
    await runs_at(tmp_path / "runs.db")
    whole = (tmp_path / "runs.db").read_bytes()
    for size in (100, 5_000, len(whole) - 4_096):
        (tmp_path / "torn.db").write_bytes(whole[:size])
        await refused(tmp_path / "torn.db", "put back a copy of it")


async def test_tables_of_somebody_else_in_postgresql_are_left_alone(server: Server) -> None:
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE strangers")
    url = server.url_of("strangers")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE entries (x TEXT)")
        store = open_store(url)
        with pytest.raises(errors.IdeaError, match="its table entries is not of a store of Ideas"):
            await saved(store, 1)
        await store.aclose()
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert tables == [("entries",)]


@both
async def test_a_store_of_a_newer_version_is_left_alone(kind: str, tmp_path: Path) -> None:
    store = open_store(url_of(kind, tmp_path))
    await saved(store, 1)
    await store.aclose()
    if kind == "sqlite":
        with sqlite3.connect(tmp_path / "ideas.db") as database:
            database.execute(f"PRAGMA user_version = {rows.FORMAT + 1}")
        database.close()
    else:
        (tmp_path / "ideas/format.json").write_text(json.dumps({"store": rows.FORMAT + 1}))
    newer = open_store(url_of(kind, tmp_path))
    for work in (newer.latest(LINE), saved(newer, 1)):
        with pytest.raises(errors.IdeaError, match="newer Actum"):
            await work
    await newer.aclose()


async def test_a_torn_line_is_left_out_and_the_next_writer_goes_on(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "ideas")
    entries = await saved(store, 3)
    log = tmp_path / "ideas/lines/_/a/b/~main.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole + b'[99,"","a/b","ma')
    assert await store.entries(LINE) == entries[::-1]
    assert await store.latest(LINE) == entries[-1]
    (again,) = [(await Library(store=store).save(idea(9), HERE)).entry]
    assert str(again.version) == "1.0.3"
    assert log.read_bytes().startswith(whole)
    assert len(log.read_bytes().splitlines()) == 4


async def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "ideas")
    await saved(store, 3)
    log = tmp_path / "ideas/lines/_/a/b/~main.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + b"rubbish\n" + lines[2])
    with pytest.raises(errors.IdeaError, match=r"the line at byte \d+ is damaged"):
        await store.entries(LINE)


FULL = """
import asyncio, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from actum.errors import IdeaError
from actum.ideas.store import Address
from actum.ideas.file import IdeaText
from actum.ideas.library import Library
from actum.storage.open import open_store

async def main():
    store = open_store(sys.argv[1])
    library = Library(store=store)
    await library.save(IdeaText(context=[], solution={"output": "small"}), Address(path="a/b"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
    try:
        await library.save(IdeaText(context=[], solution={"output": "x" * 400_000}), Address(path="a/b"))
    except IdeaError as error:
        print(error.message.count("\\n"), error.message)
    await store.aclose()

asyncio.run(main())
"""


@both
async def test_a_full_disk_is_one_line_and_the_store_stays_whole(kind: str, tmp_path: Path) -> None:
    url = url_of(kind, tmp_path)
    command = [sys.executable, "-c", FULL, url]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0 "), done.stdout
    store = open_store(url)
    (entry,) = await store.entries(LINE)
    assert (await Library(store=store).load(entry.address))[1].solution == {"output": "small"}
    assert str((await Library(store=store).save(idea(1), HERE)).entry.version) == "1.0.1"
    await store.aclose()


@both
async def test_a_folder_that_can_not_be_written_is_one_line(kind: str, tmp_path: Path) -> None:
    """A file stands where the folder should be made: that holds for root, too."""
    (tmp_path / "taken").write_text("")
    store = open_store(url_of(kind, tmp_path / "taken"))
    with pytest.raises(errors.IdeaError) as caught:
        await saved(store, 1)
    assert "\n" not in caught.value.message
    await store.aclose()


async def test_a_url_of_another_kind_is_refused() -> None:
    for url in ("mysql://x/y", "mysql://x/y.db"):
        with pytest.raises(errors.IdeaError, match="mysql:// is not a store"):
            open_store(url)
    nothing: Any
    for nothing in ("", 5, None, "a\0b", "\ud800.db", "sqlite:"):
        with pytest.raises(errors.IdeaError, match="named by its path"):
            open_store(nothing)
    unreachable = open_store("postgresql://me:hunter2@127.0.0.1:1/x?connect_timeout=2")
    with pytest.raises(errors.IdeaError) as caught:
        await unreachable.latest(LINE)
    assert "hunter2" not in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("path", ["../../x", "/x", "a/../../x", "a\\..\\x"])
def test_no_address_leads_out_of_a_folder(path: str) -> None:
    with pytest.raises(errors.IdeaError):
        parse_address(f"idea:{path}")


# What it costs


async def steps_of(store: SqliteStore, path: Path, work: Any) -> int:
    """How many steps SQLite's machine takes for some work, in hundreds."""
    count = 0

    def tick() -> int:
        nonlocal count
        count += 1
        return 0

    await store.latest(LINE)
    database: Any = getattr(store, "_open")  # noqa: B009 -- counted from outside
    database.set_progress_handler(tick, 10)
    await work()
    database.set_progress_handler(None, 10)
    return count


def many(path: Path, count: int) -> None:
    """A store with that many versions on one line, and as many on others."""
    with sqlite3.connect(path) as database:
        database.execute(
            "INSERT INTO contents VALUES (?, ?)",
            [Draft(line=LINE, version=Version(1, 0, 0), content=b"{}").digest, b"{}"],
        )
        digest = database.execute("SELECT digest FROM contents LIMIT 1").fetchone()[0]
        entries: list[list[Any]] = []
        for number in range(count):
            line = LINE if number % 2 else Line(domain="", path=f"other/{number}", branch="main")
            version = Version(1, number // 100, number % 100)
            entries.append(
                rows.values_of_entry(
                    StoredVersion(sequence=number + 1, line=line, version=version, digest=digest, created_at=number + 1)
                )
            )
        database.executemany(rows.ADD_ENTRY, entries)
    database.close()


async def test_saving_and_finding_cost_as_much_with_a_hundred_thousand_versions_as_with_a_hundred(
    tmp_path: Path,
) -> None:
    costs: list[list[int]] = []
    for count in (100, 100_000):
        path = tmp_path / f"{count}.db"
        store = SqliteStore(path)
        await store.latest(LINE)
        await store.aclose()
        many(path, count)
        store = SqliteStore(path)
        library = Library(store=store)
        last = await store.latest(LINE)
        assert last is not None

        async def append(store: SqliteStore = store, last: StoredVersion = last) -> None:
            assert await store.append(Draft(line=LINE, version=Version(2, 0, 0), content=b"[]"), last.sequence)

        work: list[Any] = [
            append,
            lambda library=library: library.find(HERE),
            lambda library=library: library.find(Address(path="a/b", version=(1, 0))),
            lambda store=store, count=count: store.latest(LINE, (), count // 2),
            lambda store=store, count=count: store.latest(LINE, (1,), count // 3),
            lambda store=store, count=count: store.entries(LINE, count // 2, 10),
        ]
        costs.append([await steps_of(store, path, operation) for operation in work])
        await store.aclose()
    for small, large in zip(*costs, strict=True):
        assert large <= 2 * small + 5, costs


async def test_a_folder_looks_at_as_many_places_as_halving_takes(tmp_path: Path) -> None:
    looked: list[int] = []

    class Counting(FolderStore):
        def _entry(self, line: Line, texts: Sequence[bytes], at: int) -> StoredVersion:
            looked.append(at)
            return super()._entry(line, texts, at)

    store = Counting(tmp_path / "ideas")
    await saved(store, 1)
    log = tmp_path / "ideas/lines/_/a/b/~main.jsonl"
    row = json.loads(log.read_bytes())
    lines: list[bytes] = []
    for number in range(100_000):
        row[0], row[5], row[6], row[8] = number + 1, number // 100, number % 100, number + 1
        lines.append(json.dumps(row).encode() + b"\n")
    log.write_bytes(b"".join(lines))
    looked.clear()
    latest = await store.latest(LINE, (1, 500), 70_000)
    assert latest is not None
    assert str(latest.version) == "1.500.99"
    assert (await store.latest(LINE)).sequence == 100_000  # pyright: ignore[reportOptionalMemberAccess] -- it is there
    assert len(await store.entries(LINE, 50_000, 10)) == 10
    assert len(looked) < 100
    shutil.rmtree(tmp_path / "ideas")


@pytest.mark.rule("X4")
@pytest.mark.parametrize("name", ["typo.db", "typo", "sqlite:typo.db", "none/typo.db"])
def test_an_agent_makes_no_store_where_its_name_is_misspelt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.IdeaError, match="there is no store at"):
        Agent(None, tools=Tools(), store=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "damage", [b"{\xe0", b"", b"[1]", b'{"a": 1}', b"[[]]", b'["1", "2"]', b"null", b"[" * 100_000]
)
async def test_a_damaged_number_of_the_last_version_is_told(tmp_path: Path, damage: bytes) -> None:
    store = FolderStore(tmp_path / "ideas")
    await saved(store, 2)
    (tmp_path / "ideas/last.json").write_bytes(damage)
    with pytest.raises(errors.IdeaError, match="damaged"):
        await Library(store=store).save(idea(9), HERE)
    assert len(await store.entries(LINE)) == 2


@pytest.mark.parametrize("column", ["domain", "path", "branch", "breaking", "digest", "created_at", "parent", "note"])
@pytest.mark.parametrize("value", [b"\xff", "x", 1.5, b"1"])
async def test_a_damaged_row_of_a_database_is_told(tmp_path: Path, column: str, value: Any) -> None:
    store = SqliteStore(tmp_path / "ideas.db")
    await saved(store, 2)
    with closing(sqlite3.connect(tmp_path / "ideas.db")) as database, database:
        database.execute(f"UPDATE entries SET {column} = ? WHERE sequence = 2", [value])
    for ask in (
        lambda: store.entries(LINE),
        store.lines,
        lambda: store.latest(LINE),
        lambda: saved(store, 1),
    ):
        with suppress(errors.IdeaError):
            await ask()
    with closing(sqlite3.connect(tmp_path / "ideas.db")) as database, database:
        database.execute("UPDATE contents SET content = ?", ["a text"])
    with pytest.raises(errors.IdeaError, match="missing or damaged"):
        await store.content("0" * 64)
    await store.aclose()


@pytest.mark.parametrize("column", ["idea", "output", "waiting", "error", "about", "state", "lease", "created"])
@pytest.mark.parametrize("value", [b"\xff", "{", "[", "5", "null", "[[" * 50_000])
async def test_a_damaged_run_of_a_database_is_told(tmp_path: Path, column: str, value: Any) -> None:
    place = tmp_path / "runs.db"
    async with Runs(f"sqlite:///{place}") as runs:
        await runs.submit(idea(1).to_dict(), id="one")
    with closing(sqlite3.connect(place)) as database, database:
        database.execute(f"UPDATE actum_runs SET {column} = ?", [value])
    async with Runs(f"sqlite:///{place}") as runs:
        with suppress(errors.ActumError):
            run = await runs.get("one")
            assert run.id == "one"
        with suppress(errors.ActumError):
            await runs.list()
        with suppress(errors.ActumError):
            await runs.cancel("one")
