"""A run as a live tree on a terminal: calls waiting, running, done or failed; delegates below their calls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult
from rich.live import Live
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text
from rich.tree import Tree

from ... import events
from ...inspection.wording import counted, short, short_call
from ...protocol.call import Place
from ...protocol.usage import Usage
from ...schema.quoting import printable
from .lines import Renderer, awaited, crossing_told, progress_of
from .terminal import last_cells

_MARKS = {
    "waiting": ("○", "bright_black"),
    "running": ("◐", "yellow"),
    "done": ("●", "green"),
    "failed": ("✕", "red"),
    "skipped": ("–", "bright_black"),
    "held": ("◇", "magenta"),
}
_MOST_THOUGHT = 200
"""How many characters of the model's reasoning are kept."""
_MOST_CALLS = 200
"""How many calls of one run are listed."""


@dataclass(slots=True)
class _Row:
    label: str
    state: str = "waiting"
    began: float | None = None
    seconds: float | None = None
    note: str = ""
    crossing: str = ""


@dataclass(slots=True)
class _Level:
    """The calls of one run, and the runs that they lead to."""

    rows: dict[Place, _Row] = field(default_factory=dict[Place, _Row])
    below: dict[str, _Level] = field(default_factory=dict[str, "_Level"])
    unlisted: int = 0


class LiveTree(Renderer):
    """Draws the tree on stderr, at most ten times a second."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._level = _Level()
        self._requests = 0
        self._usage = Usage()
        self._note = ""
        self._thought = ""
        self._began = time.monotonic()
        self._is_over = False
        self._live = self._new_live()

    def _new_live(self) -> Live:
        return Live(
            console=Console(stderr=True),
            refresh_per_second=10,
            get_renderable=self.lowest,
            vertical_overflow="visible",
        )

    def __enter__(self) -> LiveTree:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._live.stop()

    def pause(self) -> None:
        """Leave the terminal to a question."""
        self._live.stop()

    def go_on(self) -> None:
        """Take the terminal back with a new display: the old one would be drawn over the question."""
        self._live = self._new_live()
        self._live.start()

    def note(self, words: str) -> None:
        """Show words below the tree."""
        self._note = words

    def show(self, event: events.AnyEvent) -> None:
        """Add one event to the tree."""
        level = self._level
        for call in event.path:
            level = level.below.setdefault(short_call(call), _Level())
        if isinstance(event, events.ReasoningDelta):
            self._thought = (self._thought + event.text)[-_MOST_THOUGHT:]
            return
        if not isinstance(event, events.CallEvent):
            self._thought = ""
        if isinstance(event, events.RequestStarted):
            self._requests += 1
        elif isinstance(event, events.RequestFinished):
            self._usage += event.usage
        elif isinstance(event, events.CallEvent):
            if event.place not in level.rows and len(level.rows) >= _MOST_CALLS:
                level.unlisted += isinstance(event, events.CallStarted)
            else:
                _update(level.rows.setdefault(event.place, _Row(short_call(event.call))), event)

    def lowest(self) -> ConsoleRenderable:
        """The part of the tree that fits on the terminal."""
        return _Lowest(self.drawn(), self._last_line(), is_whole=self._is_over)

    def _last_line(self) -> Text | None:
        """The line below the tree: a note, or the end of the model's reasoning while the run goes on."""
        if self._note:
            return Text(printable(self._note), "yellow")
        if not self._thought or self._is_over:
            return None
        return Text(last_cells(printable(self._thought), tree_width() - 1), "dim")

    def drawn(self) -> Tree:
        """The whole tree so far."""
        spent = time.monotonic() - self._began
        summary = ", ".join([f"{spent:.1f} s", *spent_of(self._requests, self._usage)])
        tree = Tree(Text.from_markup(f"[bold]{escape(printable(self._title))}[/] [bright_black]{summary}[/]"))
        _grow(tree, self._level)
        return tree


class _Lowest:
    """The headline and the newest lines that fit on the terminal; at the end, the whole tree."""

    def __init__(self, tree: Tree, last: Text | None, *, is_whole: bool) -> None:
        self._tree, self._last, self._is_whole = tree, last, is_whole

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._tree, options.update(height=None), pad=False)
        room = options.max_height - 1 - (0 if self._last is None else 1)  # the last line is the cursor's
        cut = 0 if self._is_whole or len(lines) <= room else len(lines) - room + 1
        for place, line in enumerate(lines):
            if place == 1 and cut:
                yield Text(f"… {cut} lines above", "bright_black")
            if place == 0 or place > cut:
                yield from line
                yield Segment.line()
        if self._last is not None:
            yield self._last


def spent_of(requests: int, usage: Usage) -> Iterator[str]:
    """What a run and its delegates have spent, as far as known."""
    if requests:
        yield counted(requests, "request")
    if usage.tokens is not None:
        yield f"{usage.tokens} tokens"
    if usage.usd is not None:
        yield f"{usage.usd:.4f} USD"


def _update(row: _Row, event: events.CallEvent) -> None:
    now = time.monotonic()
    match event:
        case events.CallWaiting():
            row.state = "held" if any(reason.startswith("†state.approvals") for reason in event.on) else "waiting"
            row.note = f"waits for {awaited(event)}"
        case events.CallReady():
            row.note = ""
        case events.CallStarted():
            row.state, row.began, row.crossing = "running", now, crossing_told(event)
            row.label, row.note = short_call(event.made or event.call), ""
        case events.CallProgress():
            row.note = progress_of(event)
        case events.CallRetried():
            row.note = f"again in {event.seconds:.1f} s: {event.error.message}"
        case events.CallFinished():
            row.state, row.note = "done", f"→ {short(event.value, 60)}"
        case events.CallFailed():
            why = event.error.message.removeprefix(f"tool {event.error.tool!r}: ")  # the row names the tool
            row.state, row.note = "failed", f"{event.outcome}: {why}"
        case events.CallSkipped():
            row.state, row.note = "skipped", event.why
        case _:
            return
    if row.state in {"done", "failed"} and row.began is not None:
        row.seconds = now - row.began


def _grow(tree: Tree, level: _Level, depth: int = 1) -> None:
    below = dict(level.below)
    for row in level.rows.values():
        mark, colour = _MARKS[row.state]
        since = row.seconds if row.seconds is not None else time.monotonic() - row.began if row.began else None
        spent = f" {since:.2f} s" if since is not None else ""
        room = max(30, tree_width() - 4 * depth - 2)
        note = (printable(f"  {row.note}"), "bright_black")
        behind = Text.assemble((printable(row.crossing), "blue"), (spent, "cyan"), note)
        label = Text(printable(row.label))
        label.truncate(max(room // 2, room - 2 - behind.cell_len), overflow="ellipsis")  # the note matters more
        text = Text.assemble((f"{mark} ", colour), label, behind)
        text.truncate(room, overflow="ellipsis")
        branch = tree.add(text)
        if row.label in below:
            _grow(branch, below.pop(row.label), depth + 1)
    for label, inner in below.items():
        _grow(tree.add(Text(printable(label))), inner, depth + 1)
    if level.unlisted:
        tree.add(Text(f"and {level.unlisted} calls more", "bright_black"))


def tree_width() -> int:
    """The width of the terminal."""
    return Console(stderr=True).width
