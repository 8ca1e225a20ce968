"""What a run is given of tools and Activities: both by name, and which Activity serves a tool."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from ..errors import SchemaError
from .activity import Activity, Choice
from .backoff import Backoff
from .elsewhere import ACTIVITY, ELSEWHERE, is_elsewhere
from .tool import ANONYMOUS, Tool


class Catalog:
    """Tools by name and Activities by name. `backoff` is how long those that are tried again wait before."""

    def __init__(self, *, backoff: Backoff | None = None) -> None:
        self.backoff = backoff or Backoff()
        self._tools: dict[str, Tool] = {}
        self._activities: dict[str, Activity] = {}
        self._closed: Mapping[str, Activity | None] = {}
        """The tools that a delegate's own messages define, each with what serves it by its name all the same."""

    def find(self, name: str) -> Tool | None:
        """The registered tool of this name."""
        return self._tools.get(name)

    def find_activity(self, name: str) -> Activity | None:
        """The registered Activity of this name, if any."""
        return self._activities.get(name)

    @property
    def activity_names(self) -> Collection[str]:
        """The names under which Activities are registered."""
        return self._activities.keys()

    def granted(self, names: Collection[str]) -> Catalog:
        """What is left of it for a delegate from outside: the tools and Activities that are granted by name."""
        rest = Catalog(backoff=self.backoff)
        rest._tools = {name: tool for name, tool in self._tools.items() if name in names}
        rest._activities = {name: activity for name, activity in self._activities.items() if name in names}
        return rest

    def joined(self, others: Iterable[Catalog], own: Mapping[str, bool] | None = None) -> Catalog:
        """What a delegate has: this with what others hold, of two of one name the later; its own names win.

        `own` are the tools that its messages define, each with whether they are its own: of these none is served by its
        name, but by what others hold. The rest has crossed, and is served as it was where it came from.
        """
        tools, activities = dict[str, Tool](), dict[str, Activity]()
        for one in others:
            tools |= one._tools
            activities |= one._activities
        closed = {
            name: activities.get(name) if is_own else self._closed[name]
            for name, is_own in (own or {}).items()
            if is_own or name in self._closed
        }
        if not (tools or activities or closed or self._closed):
            return self
        both = Catalog(backoff=self.backoff)
        both._tools, both._activities = tools | self._tools, activities | self._activities
        both._closed = closed
        return both

    def serving(self, tool: Tool, delegate: str | None = None) -> Activity | Choice | None:
        """The Activity that carries out a tool: the one it names, else the one of its own name, else none.

        Where it names several, each call chooses. In a delegate's place an Activity runs that is said: one that merely
        has the tool's name doesn't, but where the delegate is anonymous. `delegate` is which a call has chosen.

        Raises:
            SchemaError: it names one that isn't registered.
        """
        choices = tool.choices("_activity")
        if choices is not None:
            return Choice({name: self._named(name, tool) for name in choices})
        if "_activity" in tool.meta:
            named = tool.fixed("_activity")
            return self._named(named, tool) if named else None
        if tool.is_delegated and _goes_out(tool, delegate):
            return None
        return self._activities.get(tool.name) if tool.name not in self._closed else self._closed[tool.name]

    def passed_over(self, tool: Tool, delegate: str | None = None) -> str:
        """The Activity that merely has the name of a tool whose delegate carries out the call, empty if none."""
        if "_activity" in tool.meta or not _goes_out(tool, delegate) or delegate == tool.name:
            return ""
        return tool.name if self._closed.get(tool.name, self._activities.get(tool.name)) is not None else ""

    def keeps_from(self, tool: Tool) -> bool:
        """Whether an Activity has the name of a delegate's own tool, and doesn't serve it for that alone."""
        is_closed = tool.name in self._closed and self._closed[tool.name] is None
        return is_closed and tool.name in self._activities and not {"_activity", "_delegate"} & tool.meta.keys()

    def holds(self, tool: Tool) -> bool:
        """Whether calls of a tool wait for a decision where nobody can be asked.

        What holds a registered tool holds whoever hands calls to its Activity: by its name, `_activity` or `_delegate`.
        """
        if tool.is_held or is_elsewhere(tool):
            return True
        names = [tool.name] if "_activity" not in tool.meta and tool.name not in self._closed else []
        for key in ("_activity", "_delegate"):
            names += [tool.fixed(key), *(tool.choices(key) or [])]
        return any((one := self._tools.get(name)) is not None and one.is_held for name in names if name)

    def _named(self, named: str, tool: Tool) -> Activity:
        if named == ELSEWHERE:
            return ACTIVITY
        if named not in self._activities:
            known = ", ".join(sorted(self._activities)) or "none"
            raise SchemaError(
                f"no Activity {named!r} is registered; there are: {known}", tool=tool.name, path="_activity"
            )
        return self._activities[named]

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools


def _goes_out(tool: Tool, delegate: str | None) -> bool:
    """Whether a call goes to a delegate that is more than an empty context (D13)."""
    return tool.is_delegated and (delegate or tool.fixed("_delegate")) != ANONYMOUS
