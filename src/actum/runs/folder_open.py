"""The files of runs that this process has open, under the locks on their logs: nobody else writes them meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import IdeaError, RunError
from ..schema.json import JsonObject, decode
from ..sources.run_log import RunOpen
from .folder_files import FolderFiles, known_of, seq_in
from .kept_row import ROW, row_in, source_in
from .kept_run import KeptRun
from .row import Row, Taken, Told
from .sending import DEADLINE
from .sent_file import is_cancelled, is_due


class OpenFiles:
    """Opens, writes and closes them; what is named has to be open, but where it is asked for."""

    def __init__(self, files: FolderFiles) -> None:
        self._files = files
        self._open: dict[str, KeptRun] = {}
        self._seq: dict[str, int] = {}

    def __contains__(self, run: object) -> bool:
        return run in self._open

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._open))

    def __getitem__(self, run: str) -> KeptRun:
        return self._open[run]

    def open(self, run: str) -> Row | None:
        """Open a run that is to be carried; None if it isn't any more, or another process has it."""
        kept = KeptRun.open(self._files.path(run), by_hand=False)
        try:
            kept.__enter__()
        except RunOpen:
            return None
        except IdeaError as error:
            self._files.fail(run, error)  # nobody could ever go on with it: that is told at the run
            return None
        self._open[run] = kept
        self._seq[run] = seq_in(kept.idea) + kept.absorbed
        row = row_in(run, kept.idea, self._files.sent(run).read())
        if row.state not in {"queued", "running"}:
            self.close(run)
            return None
        return row

    def let_go(self, run: str, **changes: Any) -> Row:
        """Leave a run that is owned to others."""
        kept = self._open[run]
        is_begun = not kept.log.is_empty or bool(kept.row.get("begun"))
        self.keep(run, state="queued", worker=None, begun=is_begun, **changes)
        row = row_in(run, self._open[run].idea, [])
        self.close(run)
        return row

    def keep(self, run: str, about: JsonObject | None = None, **changes: Any) -> None:
        """Write the file of a run that is owned, with what its log holds."""
        kept = self._open[run]
        kept.absorb()
        seq = self._seq.get(run, seq_in(kept.idea))
        told = {**kept.about, **(about or {}), ROW: {**kept.row, **changes, "seq": seq}}
        kept.keep(kept.idea.context, told)

    def close(self, run: str) -> None:
        """Give the lock of a run back."""
        self._open.pop(run).__exit__(None, None, None)
        self._seq.pop(run, None)

    def taken(self, run: str) -> Taken:
        """What it goes on from."""
        kept = self._open[run]
        sent = self._files.sent(run).due()
        self._seq[run] = seq_in(kept.idea)
        return Taken(
            source=source_in(run, kept.idea),
            entries=known_of(kept.idea, run) if kept.row.get("begun", True) else [],
            seq=self._seq[run],
            sent=[one["item"] for _, one in sent],
            consumed=sent[-1][0] if sent else 0,
        )

    def lease(self, run: str) -> int:
        """The lease of a run; one that was cancelled has none that anybody has."""
        own = self._open[run].row if run in self._open else {}
        return -1 if not own or is_cancelled(self._files.sent(run).read()) else int(own["lease"])

    def write(self, one: Told) -> None:
        """Append an entry to its log."""
        entry: Any = decode(one.text)
        try:
            self._open[one.run].log(entry)
        except IdeaError as error:
            raise RunError(error.message) from error
        self._seq[one.run] = one.seq
        if one.consumed is not None:
            file = self._files.sent(one.run)
            with file.locked():
                sent = enumerate(file.read(), 1)
                file.write([item for number, item in sent if number > one.consumed or not _is_settled(item)])


def _is_settled(sent: JsonObject) -> bool:
    """Whether a run that begins anew has taken up what it was sent, or has no more use for it."""
    return sent["item"] == DEADLINE or is_due(sent)
