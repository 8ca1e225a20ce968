"""The live table of an eval on a terminal: how many cases of each cell have passed each check so far (V1)."""

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
    """Is shown on stderr during the block and removed after it; without a terminal, nothing is shown."""

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
        """Take the terminal back."""
        if self._live is not None:
            self._live.start()

    def add(self, verdicts: Sequence[Judgement]) -> None:
        """Add the verdicts of the checks on a run."""
        for verdict in verdicts:
            self._counts.setdefault((verdict.check, verdict.cell), Counter())[verdict.state] += 1
            self._runs.setdefault(verdict.cell, set()).add((verdict.identity, verdict.repeat))

    def drawn(self) -> Table:
        """The table so far: how many of the known verdicts are passes; `?` counts the unknown ones."""
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("")
        cells = sorted(self._runs)
        for cell in cells:
            table.add_column(Text(printable(cell).replace("·", "·\n"), overflow="fold"), vertical="bottom")
        for check in dict.fromkeys(check for check, _ in self._counts):
            table.add_row(Text(printable(check)), *(_cell(self._counts.get((check, cell))) for cell in cells))
        if cells:
            table.add_row(Text("runs", "dim"), *(Text(str(len(self._runs[cell])), "dim") for cell in cells))
        return table


def _cell(states: Counter[str] | None) -> Text:
    if states is None:
        return Text()
    known = states.total() - states["unknown"]
    maybe = f" ({states['unknown']} ?)" if states["unknown"] else ""
    return Text(f"{states['pass']} of {known}{maybe}", "red" if states["pass"] < known else "green")
