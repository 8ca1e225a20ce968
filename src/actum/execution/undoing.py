"""What the calls of a group have done, so that it can be taken back where the group fails (A5, C5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

from ..protocol.activity import Activity, is_async
from ..protocol.call import Call
from ..protocol.raised import raised_words
from ..protocol.tool import Tool
from .threads import Threads


@dataclass(slots=True)
class Doing:
    """One call that is carried out: as it is made, with values and defaults, and what carries it out."""

    call: Call
    activity: Activity | None = None
    """None where another server carries it out."""
    result: Any = None

    async def take_back(self, undo: Callable[[Call, Any], Any], threads: Threads) -> None:
        """Let what has carried it out take it back; raises whatever that raises."""
        if is_async(undo):
            await undo(self.call, self.result)
        else:
            await threads.run(lambda: undo(self.call, self.result))


@dataclass(slots=True)
class Doings:
    """What a group and its delegates have carried out, in the order in which that ended."""

    _done: list[Doing] = field(default_factory=list[Doing])

    def begin(self, call: Call, tool: Tool, activity: Activity | None) -> Doing | None:
        """What is about to be carried out; None where there will be nothing to take back."""
        if tool.effects == "none" and (activity is None or activity.compensation is None):
            return None
        # A copy: the function may change what it is given.
        return Doing(Call(call, **({} if activity is None else activity.defaults(call, tool))), activity)

    def done(self, doing: Doing, result: Any) -> None:
        """Note that it has been carried out, whatever its call comes to now."""
        doing.result = result
        self._done.append(doing)

    def noting(self, function: Callable[[], Any], doing: Doing, *, is_async: bool) -> Callable[[], Any]:
        """The function behind a call, which notes itself that it has returned: a call that was cancelled misses it."""

        async def awaited(returned: Awaitable[Any]) -> Any:
            result = await returned
            self.done(doing, result)
            return result

        def called() -> Any:
            returned = function()
            if is_async or isinstance(returned, Awaitable):
                return awaited(cast("Awaitable[Any]", returned))
            self.done(doing, returned)
            return returned

        return called

    def __bool__(self) -> bool:
        return bool(self._done)

    async def take_back(self, threads: Threads, note: Callable[[str], None]) -> list[Call]:
        """Take all of it back, the last first; the calls that stay done, in their order.

        An undo that fails is noted, and doesn't stop the others.
        """
        stay: list[Call] = []
        for doing in reversed(self._done):
            undo = None if doing.activity is None else doing.activity.compensation
            try:
                if undo is not None:
                    await doing.take_back(undo, threads)
                    continue
            except (Exception, SystemExit) as failure:
                note(f"undoing {doing.call.tool!r} failed: {raised_words(failure)}")
            stay.append(doing.call)
        return stay[::-1]
