"""`actum chat`: a conversation with an Idea on the terminal, or line by line through a pipe (M4, M7, O9)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from ...app.agent import Agent, assembled, with_deps
from ...app.begun import Begun, approve_of
from ...app.idea import Idea
from ...app.loading import Code, Loaded, load_idea
from ...app.stream import Conversation, SentText, member_of
from ...errors import ActumError, SolutionError
from ...events import AnyEvent, ReasoningDelta
from ...protocol.approvals import pending
from ...protocol.call import Place
from ...protocol.marks import Marks, without_plans
from ...protocol.solution import Result
from ...runs.kept_conversation import KeptConversation
from ...runs.kept_run import KeptRun, is_taken
from ...schema.json import JsonObject
from .. import options
from ..connecting import approver_of, servers_at
from ..given_deps import DepsNames, given_deps
from ..questions import LineReader, Questions
from ..render.interrupting import INTERRUPTED, Interruptible, on_interrupt, tell_at_once
from ..render.lines import Renderer, event_line
from ..render.run_display import FAILED, tell_outcome
from ..render.terminal import PassingLine, say_piece, tell


async def actum_hold_chat(
    idea: str,
    /,
    *,
    i: options.Settings = None,
    model: options.ModelName = None,
    approve: Begun | None = None,
    save: str | None = None,
    member: str = "",
    most: int | None = None,
    summary: bool = False,
    activities: options.Modules = None,
    deps: DepsNames = None,
    root: options.DelegateRoots = None,
    mcp: str | None = None,
) -> int:
    """Talk with an Idea: each line is what you say; answers go to stdout as they are written, calls to stderr.

    Ctrl-C cancels the answer under way and not the conversation, which Ctrl-D ends.

    Parameters
    ----------
    idea
        The Idea's file.
    i
        A value of the input, as key=value; may be repeated. A dotted key nests.
    approve
        Who decides on calls: ask for each, run all, run none, or hold each for later (with --save). A conversation that
        goes on keeps to what it began with, where nothing else is said.
    save
        A file to keep the conversation in; if it exists, the conversation in it goes on.
    member
        The path of the text in an output that is more than a text, for example answer.
    most
        Leave the oldest turns out where all of them are longer than so many characters; with --save, of the file, too.
    summary
        Let the model write down in short what --most leaves out.
    mcp
        A file of MCP servers whose tools are offered, in the form {"mcpServers": {…}}; what they do is held, unless
        they are trusted and only read.
    """
    if approve == "plan":
        raise options.CommandError("a plan is approved before it runs: --approve plan is for `actum run`")
    if approve == "hold" and save is None:
        raise options.CommandError("--approve hold needs --save FILE, where the calls wait")
    if summary and most is None:
        raise options.CommandError("--summary takes the place of what --most NUMBER leaves out")
    loaded = load_idea(idea, model=model, roots=root or [], code=Code.to_run(activities))
    if loaded.model is None:
        raise options.CommandError("a conversation needs a model: name one with --model, or in the Idea's config")
    schema = loaded.idea.schema or str
    where = member_of(schema, member)
    reader = LineReader()
    questions = Questions(Renderer(), loaded.roots, reader)
    has_servers = mcp is not None or bool(loaded.code.servers)
    if approve is None and save is not None and is_taken(Path(save)):
        approve = approve_of(Idea.load(save))  # as the conversation began
    agent = loaded.agent(approver_of(approve, questions, has_servers=has_servers))
    values = options.input_of(loaded.idea.context, i or [], None)
    async with (
        given_deps(deps, loaded.idea, Path(idea).name) as dependencies,
        servers_at(mcp, loaded.code.registry, loaded.code.servers),
    ):
        agent = with_deps(agent, dependencies)
        with ExitStack() as stack:
            if save is None:
                context, _ = await assembled(agent).prepared(loaded.context, schema, input=values)
                take = _unkept(agent.conversation(context, schema, member=where, most=most, summary=summary))
                is_open = False
            else:
                kept = stack.enter_context(await _opened(Path(save), loaded, agent, values, approve))
                take = _kept(KeptConversation(kept=kept, agent=agent, most=most, summary=summary))
                messages = kept.idea.context.messages
                is_open = bool(Marks.of(messages).standing) and messages[-1].get("type") != "output"
            return await _talk(take, where, reader, is_open=is_open, file=save)


Take = Callable[[str | None, Callable[[AnyEvent], None]], Awaitable[Result[Any]]]
"""Takes one turn and shows its events: a new one with a message, or, with None, the one that is still open."""


def _unkept(talk: Conversation) -> Take:
    async def take(message: str | None, show: Callable[[AnyEvent], None]) -> Result[Any]:
        turn = talk.stream(message)
        try:
            async with turn:
                async for event in turn:
                    show(event)
        except asyncio.CancelledError:
            talk.give_up()
            raise
        return turn.result

    return take


def _kept(talk: KeptConversation) -> Take:
    async def take(message: str | None, show: Callable[[AnyEvent], None]) -> Result[Any]:
        waiting = {Place.parse(call.of).answer for call in pending(talk.context)}
        try:
            return await talk.take(message, show)
        except asyncio.CancelledError:
            talk.kept.keep(without_plans(talk.context, but=waiting))
            raise

    return take


async def _opened(path: Path, loaded: Loaded, agent: Agent, values: JsonObject, approve: Begun | None) -> KeptRun:
    if is_taken(path):
        return KeptRun.open(path)
    schema = loaded.idea.schema or {"type": "string"}
    context, schema = await assembled(agent).prepared(loaded.context, schema, input=values)
    return KeptRun.begin(path, replace(loaded.idea, schema=schema, solution=None), context, approve)


async def _talk(take: Take, member: str, reader: LineReader, *, is_open: bool, file: str | None) -> int:
    """Take turns until the input ends; returns the exit code: that of the last turn, or 0 on a terminal."""
    is_terminal = sys.stdin.isatty()
    code = 0
    with _hint():
        message = None if is_open else await _line(reader, is_terminal)
        while is_open or message is not None:
            is_open = False
            if message is None or message.strip():
                code = await take_turn(lambda show, message=message: take(message, show), Screen(member), file)
            message = await _line(reader, is_terminal)
    if is_terminal:
        tell("")
        return 0
    return code


async def take_turn(
    take: Callable[[Callable[[AnyEvent], None]], Awaitable[Result[Any]]], screen: Screen, file: str | None = None
) -> int:
    """Take one turn; Ctrl-C cancels it and nothing else. Returns its exit code."""
    interruptible = Interruptible(screen, goes_on=True)

    async def result() -> Result[Any] | ActumError:
        try:
            return await take(interruptible.show)
        except ActumError as error:
            return error

    async with asyncio.TaskGroup() as group:
        interruptible.task = turn = group.create_task(result())
        with interruptible:
            await asyncio.wait([turn])
    screen.end()
    if turn.cancelled():
        tell("actum: cancelled; what has been done stays")
        return INTERRUPTED
    if isinstance(outcome := turn.result(), ActumError):
        tell(f"actum: error: {outcome.message}")
        return FAILED
    return tell_outcome(outcome, file)


class Screen(Renderer):
    """Shows one turn: its calls as lines on stderr, the text of its output on stdout as it becomes final.

    On a terminal, a passing line shows the model's reasoning.
    """

    def __init__(self, member: str) -> None:
        self._given = SentText(member)
        self._is_in_line = False
        self._thought = PassingLine()

    def show(self, event: AnyEvent) -> None:
        """Show one event."""
        if isinstance(event, ReasoningDelta):
            if not self._is_in_line:
                self._thought.add(event.text)
            return
        self._thought.end()
        line = event_line(event)
        if line is not None and line != "request":
            self.end()
            tell(f"{'  ' * (event.depth + 1)}{line}")
        try:
            piece = self._given.piece(event)
        except SolutionError:  # the text differs this time: shown again from its beginning
            self.end()
            piece = self._given.restarted()
        if piece:
            say_piece(piece)
            self._is_in_line = not piece.endswith("\n")

    def note(self, words: str) -> None:
        """Print words as a line of their own."""
        self.end()
        super().note(words)

    def end(self) -> None:
        """End the line that is being written."""
        self._thought.end()
        if self._is_in_line:
            say_piece("\n")
            self._is_in_line = False


@contextmanager
def _hint() -> Generator[None]:
    """Have Ctrl-C say how to end the conversation while no turn is under way."""

    def say() -> None:
        tell("")
        tell("actum: Ctrl-D ends the conversation")
        tell("> ", end="")

    loop = asyncio.get_running_loop()

    def interrupted(_signal: int, _frame: FrameType | None) -> None:
        tell_at_once(loop, say)

    with on_interrupt(interrupted):
        yield


async def _line(reader: LineReader, is_terminal: bool) -> str | None:
    """The next line of stdin, None at its end."""
    if is_terminal:
        tell("> ", end="")
    return await reader.line()
