"""`actum follow`: look on while a run is carried out elsewhere (L8)."""

from __future__ import annotations

from ...inspection.entry_lines import entry_line
from ...runs import Live
from ...runs.handle import Run
from ..keeping import RunName, run_at
from ..options import AnyRuns, QuietFlag
from ..render.run_display import FAILED, PRODUCED, WAITS
from ..render.terminal import say_json, tell


async def actum_follow(
    run: RunName,
    /,
    *,
    store: AnyRuns = None,
    after: int = 0,
    json: bool = False,
    live: bool = False,
    quiet: QuietFlag = False,
) -> int:
    """Show what a run does until it is over or waits, then its output, with the exit codes of `actum run`.

    Parameters
    ----------
    after
        The number of the last entry that is known already.
    json
        Print one JSON entry per line.
    live
        With --json, print what no record holds, too, while it happens: pieces of text, progress.
    """
    async with run_at(run, store) as handle:
        async for entry in handle.follow(after, live=live and json):
            if isinstance(entry, Live):
                say_json(entry.data)
            elif json:
                say_json({"seq": entry.seq, **entry.data})
            elif not quiet and (line := entry_line(entry.data)) is not None:
                tell(f"{entry.seq:>5}  {line}")
        return _finish(handle, is_json=json)


def _finish(run: Run, *, is_json: bool) -> int:
    row = run.row
    if row.state == "waiting":
        tell(f"actum: waiting for {', '.join(row.waiting)}")
        return WAITS
    if row.state != "done":
        why = f"failed: {row.error.get('message')}" if row.error is not None else "was cancelled"
        tell(f"actum: error: run {run.id} {why}")
        return FAILED
    if not is_json:
        say_json(row.output)
    return PRODUCED
