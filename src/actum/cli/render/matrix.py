"""The table of an eval on a terminal while it runs: how many cases of each cell have passed each check so far (V1)."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ...evals import Judgement
from ...schema.quoting import printable
from .lines import Renderer


class LiveMatrix(Renderer):
    """Stands on stderr as long as the block lasts and is taken away then; where that isn't a terminal, nothing does."""

    def __init__(self, *, is_shown: bool) -> None:
        self._counts: dict[tuple[str, str], Counter[str]] = {}
        self._runs: dict[str, set[tuple[str, int]]] = {}
        self._live: Live | None = None
        if is_shown and sys.stderr is not None and sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
            self._live = Live(
                console=Console(stderr=True), refresh_per_second=10, get_renderable=self.drawn, transient=True
            )

    def __enter__(self) -> LiveMatrix:
        self.go_on()
        return self

    def __exit__(self, *_: object) -> None:
        self.pause()

    def pause(self) -> None:
        """Leave the terminal to a question."""
        if self._live is not None:
            self._live.stop()

    def go_on(self) -> None:
        """Take it back."""
        if self._live is not None:
            self._live.start()

    def add(self, new: Sequence[Judgement]) -> None:
        """Take in what the checks have said of a run."""
        for row in new:
            self._counts.setdefault((row.check, row.cell), Counter())[row.state] += 1
            self._runs.setdefault(row.cell, set()).add((row.identity, row.repeat))

    def drawn(self) -> Table:
        """The table as it stands: of what is known, how much has passed; `?` for what nobody knows."""
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("")
        cells = sorted(self._runs)
        for cell in cells:
            table.add_column(Text(printable(cell).replace("·", "·\n"), overflow="fold"), vertical="bottom")
        for check in dict.fromkeys(check for check, _ in self._counts):
            table.add_row(Text(printable(check)), *(_told(self._counts.get((check, cell))) for cell in cells))
        if cells:  # before, there is nothing to say
            table.add_row(Text("runs", "dim"), *(Text(str(len(self._runs[cell])), "dim") for cell in cells))
        return table


def _told(states: Counter[str] | None) -> Text:
    if states is None:
        return Text()
    known = states.total() - states["unknown"]
    maybe = f" ({states['unknown']} ?)" if states["unknown"] else ""
    return Text(f"{states['pass']} of {known}{maybe}", "red" if states["pass"] < known else "green")
