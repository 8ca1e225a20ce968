"""Asking a person on the terminal whether calls may run (L6, P4)."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, TextIO

from ..app.begun import deny_all, hold_all
from ..errors import ApprovalDenied, MessageError
from ..execution.approver import HOLD, Approve, Reply
from ..inspection.wording import abridged, short
from ..protocol.approvals import Asked
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.tool import Tool
from ..schema.json import NotJson, decode, encode, is_list, is_object
from ..schema.quoting import printable
from .options import CommandError
from .render.asked import call_lines, message_shown
from .render.lines import Renderer
from .render.terminal import tell


class LineReader:
    """Reads lines on a thread that nobody waits for: a read can't be stopped, and must not keep the process alive.

    It doesn't use `sys.stdin` itself, since the thread would hold its lock when the process ends.
    """

    def __init__(self) -> None:
        self._lines: TextIO | None = None
        self._coming: asyncio.Future[str] | None = None
        """The line that is being read, even if the question for it was given up."""
        self._has_ended = False

    async def line(self) -> str | None:
        """The next line without its end, None at the end."""
        if self._has_ended:
            return None
        if self._coming is None:
            self._coming = asyncio.get_running_loop().create_future()
            Thread(target=self._read, args=(self._coming,), name="actum-reader", daemon=True).start()
        line = await asyncio.shield(self._coming)
        self._coming, self._has_ended = None, not line
        return line.removesuffix("\n") if line else None

    def _read(self, coming: asyncio.Future[str]) -> None:
        line = ""
        with suppress(OSError, ValueError, AttributeError):  # closed, or not a file: the input has ended
            if self._lines is None:
                descriptor, encoding = sys.stdin.fileno(), sys.stdin.encoding
                self._lines = open(descriptor, encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
            line = self._lines.readline()
        with suppress(RuntimeError):  # the loop has ended meanwhile
            coming.get_loop().call_soon_threadsafe(coming.set_result, line)


_ANSWERS = {"yes": "y", "no": "n", "edit": "e", "view": "v"}
_MOST_SHOWN = 400
"""How many characters of a line are shown until the user asks for all of it."""
_CLOSED = "nobody can decide: the terminal was closed"


class Questions:
    """Asks one question at a time; the display of the run pauses meanwhile.

    If the terminal is closed, calls wait: denying them would make the model ask again and again.
    """

    def __init__(self, renderer: Renderer, roots: Sequence[Path] = (), reader: LineReader | None = None) -> None:
        self.roots = roots
        """The folders of files in messages that cross to calls: such files are shown with their size and digest."""
        self._renderer = renderer
        self._reader = reader or LineReader()
        self._lock = asyncio.Lock()
        self._is_closed = False

    async def call(self, call: Asked, tool: Tool, context: Context) -> Reply:
        """Ask about one call and show everything that will cross to it."""
        async with self._lock:
            if self._is_closed:
                return HOLD
            self._renderer.pause()
            try:
                return await self._decided(call, list(asked_lines(call, tool, context, self.roots)))
            except ApprovalDenied as error:
                self._is_closed = True
                tell("")
                tell(f"actum: {error.message}")
                return HOLD
            finally:
                self._renderer.go_on()

    async def plan(self, context: Context, describe: Callable[[Context], str]) -> Context:
        """Ask whether the plans of a context may run as a whole, as they are or edited (P4).

        Raises:
            ApprovalDenied: they may not.
        """
        _check_terminal()
        while True:
            answer, reason = await self._choice("Run this plan?", describe(context).split("\n"))
            if answer == "y":
                return context
            if answer == "n":
                raise ApprovalDenied(f"the plan was not approved{f': {reason}' if reason else ''}")
            context = await asyncio.to_thread(_edited_plans, context)

    async def _decided(self, call: Asked, lines: Sequence[str]) -> Reply:
        while True:
            answer, reason = await self._choice("Run it?", lines)
            if answer != "e":
                return answer == "y" or reason or False
            if (edited := await self._edited(call)) is not None:
                return edited
            lines = ()  # all of it was shown before it could be edited

    async def _choice(self, question: str, lines: Sequence[str]) -> tuple[str, str]:
        """The answer `y`, `n` or `e`, and the reason after `n`. Nothing can be approved that was not shown."""
        shown = [abridged(line, _MOST_SHOWN) for line in lines]
        hides = shown != list(lines)
        for line in shown:
            tell(line)
        while True:
            choices = "[y]es, [n]o [reason], [e]dit, [v]iew: " if hides else "[y]es, [n]o [reason], [e]dit: "
            answer, _, reason = (await self._answer(f"{question} {choices}")).partition(" ")
            answer = _ANSWERS.get(answer.lower(), answer)
            if answer == "v":
                hides = False
                for line in lines:
                    tell(line)
            elif answer in {"y", "e"} and hides and not reason:
                tell("  not all of it was shown: v shows it")
            elif answer == "n" or (answer in {"y", "e"} and not reason):
                return answer, reason.strip()
            else:
                tell("  y runs it, n denies it, as in: n too dear; e edits it first, v shows all of it")

    async def _edited(self, call: Asked) -> Call | None:
        """The call with the parameters that are typed, None if none are."""
        while True:
            text = await self._answer(f"Parameters [{short(call.parameters, _MOST_SHOWN)}]: ")
            if not text:
                return None
            try:
                value: Any = decode(text)
            except NotJson as error:
                tell(f"  {error}")
                continue
            if is_object(value):
                meta = {key: member for key, member in call.items() if key.startswith("_")}
                return Call({**meta, **value})
            tell("  write the parameters as a JSON object")

    async def _answer(self, question: str) -> str:
        """The line that is typed; a question that the end of the run cancels doesn't swallow it."""
        tell(question, end="")
        line = await self._reader.line()
        if line is None:
            raise ApprovalDenied(_CLOSED)
        return line.strip()


def approver(how: str, questions: Questions) -> Approve | None:
    """The approver for `--approve`, None if all calls may run.

    Raises:
        CommandError: there is no terminal to ask on.
    """
    if how == "ask":
        _check_terminal()
        return questions.call
    return {"none": deny_all, "hold": hold_all}.get(how)


def _edited_plans(context: Context) -> Context:
    """The context with its plans as edited; the same context if they were left alone or can't be parsed."""
    from cyclopts import EditorError, edit

    plans = [message for message in context if message.get("type") == "plan"]
    text = json.dumps(plans, ensure_ascii=False, indent=2)
    try:
        changed: Any = decode(edit(text, required=False))
        others = [message for message in context if message.get("type") != "plan"]
        if not is_list(changed):
            raise MessageError("write a list of plan messages")
        return context.with_messages(others).extended(changed)
    except EditorError as error:
        tell(f"  no editor can be started ({type(error).__name__}): set EDITOR")
    except (NotJson, MessageError) as error:
        tell(f"  {error}")
    return context


def _check_terminal() -> None:
    if sys.stdin is None or not sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
        raise CommandError("there is no terminal to ask on: use --approve all or none")


def asked_lines(call: Asked, tool: Tool, context: Context, roots: Sequence[Path]) -> Iterator[str]:
    """A call to decide on, as lines, with everything that will cross to it."""
    yield ""
    yield f"{tool.name}  {' '.join(tool.description.split())}"
    if tool.is_delegated:
        yield f"  carried out by the delegate {printable(str(call.get('_delegate')))}"
    if call.instance is not None:
        yield f"  for the instance {printable(call.instance)}"
    for line in call_lines(call, call.sources, call.derived):
        yield f"  {line}"
    if len(context):
        yield "  sees of the context nothing but:"
        for message in context:
            yield f"    {printable(encode(message_shown(message, context.origin, roots)))}"
    elif tool.is_delegated:
        yield "  sees nothing of the context"
