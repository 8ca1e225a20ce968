"""The files of a folder of runs: for each run its own, its log, and the messages sent to it, with their lock."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ..app.idea import Idea
from ..errors import ActumError, IdeaError, RunError, StoreUnavailable
from ..ideas.course import COURSE, course_entry, is_note
from ..ideas.ticks import ID, RUN, begun_with, run_id
from ..schema.json import JsonObject, encode
from ..sources.files import file_time
from ..sources.run_log import RunLog
from .kept_row import ROW, as_sent, kept_row, row_in, source_in
from .kept_run import with_origin
from .row import Row, RunHistory, State, Submission
from .sent_file import SentFile

T = TypeVar("T")
_LOG = logging.getLogger("actum.worker")
_TRIES = 10
_Stamp: TypeAlias = tuple[int, int, int] | None
_MOST_LOADED = 8


class FolderFiles:
    """Reads and writes the files, on any thread: nothing blocks but the lock of the messages that are sent."""

    def __init__(self, folder: Path, files: Mapping[str, Path]) -> None:
        self._folder = folder
        self._files = files
        self._lock = asyncio.Lock()
        self.damaged: dict[Path, str] = {}
        """What is wrong with the files that couldn't be read when the runs were last listed."""
        self._warned: set[Path] = set()
        """Those of which a worker has warned."""
        self._rows: dict[Path, tuple[_Stamp, bool, Row | None]] = {}
        """The rows of the files, without messages sent, each with the stamp of the file when it was read."""
        self._loaded: OrderedDict[Path, tuple[_Stamp, Idea]] = OrderedDict()
        """The contents of the files that were read last, with their stamps."""

    async def off_loop(self, work: Callable[[], T]) -> T:
        """Do work that reads and writes files on a thread; return its result."""
        async with self._lock:
            try:
                return await asyncio.to_thread(work)
            except OSError as error:
                raise RunError(f"{self._folder}: {error.strerror or error}") from error

    def now(self) -> float:
        """The time by the clock of the folder's file system."""
        return file_time(self._folder)

    def path(self, run: str) -> Path:
        """The file of a run."""
        return self._files.get(run) or self._folder / f"{run}.json"

    def submit(self, run: Submission) -> tuple[Row, bool]:
        """Keep a run in a new file, unless there is one of its id; return its row, and whether it is new."""
        with self.sent(run.id).locked():
            if (row := self.row(run.id)) is not None:
                return row, False
            idea = Idea.read(encode(run.idea), f"run {run.id}", run.origin)
            about: JsonObject = {**begun_with(idea.meta), ID: run.id, ROW: kept_row(run, self.now())}
            path, idea = self.path(run.id), replace(idea, meta={**idea.meta, RUN: about})
            with_origin(idea, path, run.origin).save(path)
            row = self.row(run.id)
            assert row is not None
            return row, True

    def _load(self, path: Path) -> Idea:
        """The Idea in a file, from a cache if the file hasn't changed."""
        stamp = _stamp(path)
        cached = self._loaded.pop(path, None)
        if cached is None or stamp is None or cached[0] != stamp:
            cached = stamp, Idea.load(path)
        self._loaded[path] = cached
        while len(self._loaded) > _MOST_LOADED:
            self._loaded.popitem(last=False)
        return cached[1]

    def row(self, run: str) -> Row | None:
        """The row of a run, from a cache if its file hasn't changed; None if there is none."""
        path = self.path(run)
        stamp, is_logged = _stamp(path), has_log(path)
        cached = self._rows.get(path)
        if cached is None or cached[:2] != (stamp, is_logged):
            idea = self._load(path) if os.path.isfile(path) else None
            row = None if idea is None or RUN not in idea.meta else row_in(run, idea, is_logged=is_logged)
            cached = self._rows[path] = (stamp, is_logged, row)
        row = cached[2]
        return row if row is None or row.is_over else as_sent(row, self.sent(run).read())

    def rows(self, *, warns: bool = False) -> list[Row]:
        """The runs by id, without those whose files can't be read: these are `damaged`.

        `warns` logs a warning for each of them, once.
        """
        rows: list[Row] = []
        damaged: dict[Path, str] = {}
        paths = sorted(self._folder.glob("*.json"))
        self._rows = {path: self._rows[path] for path in paths if path in self._rows}
        for path in paths:
            try:
                row = self.row(path.stem)
            except ActumError as error:
                if not _is_no_idea(path):
                    damaged[path] = error.message
                continue
            rows += [] if row is None else [row]
        self.damaged = damaged
        if warns:
            for path in damaged.keys() - self._warned:
                _LOG.warning("a run that can't be read is passed over: %s", damaged[path])
            self._warned = set(damaged)
        return rows

    def sweep(self, state: State, before: float, most: int, spared: Collection[str]) -> list[str]:
        """Delete the files of runs of a state that ended before a time, except those `spared`; return their ids."""
        rows = self.rows(warns=True)
        ends = {
            row.id: row.ended or (row.created if state == "cancelled" else 0.0) for row in rows if row.state == state
        }
        swept = [run for run, ended in ends.items() if 0.0 < ended < before and run not in spared][:most]
        for run in swept:
            with self.sent(run).locked():
                path = self.path(run)
                for file in (path, path.with_name(path.name + ".log"), self.sent(run).path):
                    file.unlink(missing_ok=True)
        return swept

    def fail(self, run: str, error: IdeaError) -> None:
        """Fail a run whose log is damaged; the log stays as it is."""
        with self.sent(run).locked():
            idea = Idea.load(self.path(run))
            about: Any = idea.meta[RUN]
            failure = RunError(f"what it has done can't be read: {error.message}").to_dict()
            row = {**about.get(ROW, {}), "state": "failed", "error": failure, "worker": None, "ended": self.now()}
            replace(idea, meta={**idea.meta, RUN: {**about, ROW: row}}).save(self.path(run))

    def source(self, run: str) -> Submission | None:
        """The submission of a run, with the context that it has left."""
        path = self.path(run)
        return source_in(run, self._load(path)) if os.path.isfile(path) else None

    def entries(self, run: str, after: int, most: int) -> list[tuple[int, JsonObject]]:
        """Entries of a run's record after a number; those that its file has absorbed are summed up in one."""
        path, log = self.path(run), RunLog(self.path(run))
        unread = None
        for _ in range(_TRIES):
            if not os.path.isfile(path):
                return []  # it was swept
            idea = self._load(path)
            taken_up, log.run = seq_in(idea), run_id(idea.meta[RUN])
            try:
                with log.reading():
                    logged = list(enumerate(log.entries(), taken_up + 1))
            except IdeaError as error:
                stamps = _stamp(path), _stamp(log.path)
                if stamps == unread:
                    raise RunError(f"run {run}: what it has done can't be read: {error.message}") from None
                unread = stamps  # or it was absorbed into the file while it was read
                continue
            if seq_in(self._load(path)) == taken_up:
                taken = [(taken_up, entry) for entry in file_entries(idea, run)] if after < taken_up else []
                return [*taken, *(item for item in logged if item[0] > after)][:most]
        raise StoreUnavailable(f"{path}: it changes too fast to be read")

    def history(self, run: str) -> RunHistory | None:
        """What a run goes on from if it is claimed now; None if there is none."""
        sent = self.sent(run).due()  # first: what is taken up meanwhile is in the entries
        if (source := self.source(run)) is None:
            return None
        return RunHistory.of(source, self.entries(run, 0, sys.maxsize), sent)

    def has_progress(self, run: str) -> bool:
        """Whether a run has recorded more than its beginning."""
        try:
            return any("began" not in entry and not is_note(entry) for _, entry in self.entries(run, 0, 100))
        except RunError:
            return False  # damage is reported when the run is opened

    def is_suspect(self, row: Row, worker: str) -> bool:
        """Whether another worker was lost with a run that is to be carried and has recorded nothing."""
        is_taken_over = row.state == "running" and row.worker not in {None, worker}
        is_lost = row.state in {"queued", "running"} and (bool(row.losses) or is_taken_over)
        return is_lost and not self.has_progress(row.id)

    def sent(self, run: str) -> SentFile:
        """The messages sent to a run."""
        return SentFile(self.path(run))


def _stamp(path: Path) -> _Stamp:
    """What changes whenever a file is rewritten."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def seq_in(idea: Idea) -> int:
    """The number of the last entry that a run's file has absorbed."""
    row: Any = idea.meta[RUN].get(ROW, {})
    return int(row.get("seq", 0 if row else 1))


def has_log(path: Path) -> bool:
    """Whether a run's log holds what its file doesn't."""
    log = path.with_name(path.name + ".log")
    return os.path.exists(log) and os.path.getsize(log) > 0  # False, too, where the name is too long to exist


def file_entries(idea: Idea, run: str) -> list[JsonObject]:
    """What a run's file has absorbed, as entries."""
    about: Any = idea.meta[RUN]
    noted: list[JsonObject] = about.get("ticks", [])
    ticks: list[JsonObject] = [{"at": [], "tick": {"number": at, **tick}} for at, tick in enumerate(noted, 1)]
    course = [course_entry(about[COURSE])] if about.get(COURSE) else []
    return [{"at": [], "began": list(idea.context.messages), "run": about.get(ID, run)}, *ticks, *course]


def _is_no_idea(path: Path) -> bool:
    """Whether a file is JSON of something else: no run at all, rather than a damaged one."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return not isinstance(content, dict) or "context" not in content
