"""What a run needs of its workers, noted when it is begun, and what of that a worker lacks (L8).

Tools are compared by their interfaces, the Ideas that they lead to by their versions. Code may change under the same
name: that is only reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..app.assembly import Assembly
from ..app.saved import prefixes_of
from ..errors import ActumError, DelegateError, DelegateNotFound
from ..generation.offer import REVEAL, Toolset, offered
from ..ideas.store import parse_address
from ..protocol.activity import Activity
from ..protocol.context import Context, is_url
from ..protocol.declaration import tools_of
from ..protocol.elsewhere import ELSEWHERE
from ..protocol.reader import READ
from ..protocol.registry import Catalog, Registry
from ..protocol.tool import ANONYMOUS, Tool, code_digest, delegates_of, interface_digest
from ..schema.json import JsonObject, is_object
from ..sources.actum_server import SCHEMES

_IDEA = "idea:"
_KEYS = ("tools", "ideas", "code")


@dataclass(frozen=True, slots=True)
class Needs:
    """What a run needs: the digest of each of its tools, and the version, if any, of each Idea that these lead to."""

    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    ideas: Mapping[str, str] = field(default_factory=dict[str, str])
    code: Mapping[str, str] = field(default_factory=dict[str, str])
    """The digests of what carries out its calls: the code of a tool, or the text of an Idea."""

    @classmethod
    def of(cls, noted: Mapping[str, Any]) -> Needs:
        """Needs from their stored form; what no worker writes is left out."""
        parts = [noted.get(key) for key in _KEYS]
        return cls(*({name: str(digest) for name, digest in part.items()} if is_object(part) else {} for part in parts))

    def to_dict(self) -> JsonObject:
        """The stored form, as JSON."""
        return {key: dict(getattr(self, key)) for key in _KEYS}

    def lacking(self, here: Needs) -> list[str]:
        """What is missing from `here`, in words."""
        missing = list[str]()
        for name, digest in self.tools.items():
            if name not in here.tools:
                missing.append(f"the tool {name!r}")
            elif here.tools[name] != digest:
                missing.append(f"the tool {name!r} as it was when the run began")
            elif name in self.code and name not in here.code:
                missing.append(f"the code of the tool {name!r}")
        for name, version in self.ideas.items():
            if here.ideas.get(name) != version:
                missing.append(f"the Idea {name!r}" + (f" of version {version}" if version else ""))
        return missing

    def changed(self, here: Needs) -> list[str]:
        """The names whose code is different here."""
        return [name for name, digest in self.code.items() if here.code.get(name, digest) != digest]


@dataclass(frozen=True, slots=True)
class NeedsHere:
    """The needs of a run that would begin here, and what of them is missing, in words; `here` is all that there is."""

    needs: Needs
    here: Needs
    missing: Sequence[str] = ()


async def judged_here(context: Context, agent: Assembly, servers: Sequence[Path]) -> NeedsHere:
    """Judge what a run of an agent that begins with a context needs, and what of it is missing here.

    `servers` aren't started for that: only their pinned tools are known.
    """
    registry, begun = _with_pinned(agent.tools, servers)
    missing = [f"the code {name!r}" for name in _unknown_code(context, registry)]
    named = agent.config.tools
    absent = [name for name in named or () if registry.find(name) is None]
    missing += [f"the tool {name!r}" for name in absent if not name.startswith(begun)]
    try:
        toolset = offered(context, registry, None if named is None else [name for name in named if name not in absent])
    except ActumError:
        return NeedsHere(Needs(), Needs(), missing)  # if nothing is missing, the run itself fails of this
    planned = list(_planned_calls(context))
    is_asked = agent.model is not None
    for call in planned:
        missing += _missing_of(call, toolset, begun, is_asked=is_asked)
    names = {*toolset.tools} if is_asked else {call["_tool"] for call in planned} & toolset.tools.keys()
    ideas, digests, unfound = await ideas_of(toolset, names, agent, context)
    code = {name: code_digest(act.function) for name, act in toolset.activities.items() if isinstance(act, Activity)}
    here = Needs({name: interface_digest(tool) for name, tool in toolset.tools.items()}, ideas, code | digests)
    used = {name: digest for name, digest in here.code.items() if name in names or name in ideas}
    needs = Needs({name: digest for name, digest in here.tools.items() if name in names}, ideas, used)
    return NeedsHere(needs, here, list(dict.fromkeys([*missing, *unfound])))


def _with_pinned(tools: Catalog, servers: Sequence[Path]) -> tuple[Catalog, tuple[str, ...]]:
    """The tools together with the pinned ones of servers, and the prefixes of all their tools' names."""
    if not servers:
        return tools, ()
    from ..connections.looking import register_pinned

    registry = Registry()
    registry.take(tools)
    for file in servers:
        register_pinned(file, registry)
    return registry, prefixes_of(servers)


def _planned_calls(context: Context) -> Iterator[JsonObject]:
    """The calls that the plans of a context name."""
    for message in context:
        calls: Any = message.get("plan") if message.get("type") == "plan" else ()
        yield from (call for call in calls if is_object(call) and isinstance(call.get("_tool"), str))


def _unknown_code(context: Context, registry: Catalog) -> Iterator[str]:
    """The Activities that messages of a context name and nobody has registered."""
    known: Collection[str] = registry.activity_names
    defined = [tool for index, message in enumerate(context) if message.get("type") == "tool"
               for tool in tools_of(message, index)]  # fmt: skip
    named = [name for tool in defined for name in (tool.choices("_activity") or [tool.fixed("_activity")])]
    named += [call.get("_activity") for call in _planned_calls(context)]
    yield from (name for name in named if isinstance(name, str) and name not in {"", ELSEWHERE, *known})


def _missing_of(call: JsonObject, toolset: Toolset, begun: tuple[str, ...], *, is_asked: bool) -> Iterator[str]:
    """What is missing for a call of a plan: its tool, or the code for it if there is no model."""
    name: str = call["_tool"]
    tool = toolset.tools.get(name)
    if tool is None and name not in {READ, REVEAL} and not name.startswith(begun):
        yield f"the tool {name!r}"
    has_more = bool({"_output", "_activity", "_delegate"} & call.keys())
    if tool is not None and not is_asked and not has_more and tool.output is not None and toolset.is_latent(tool):
        yield f"the code of the tool {name!r}"


async def ideas_of(
    toolset: Toolset, names: Collection[str], agent: Assembly, context: Context
) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """The versions and the digests of the Ideas that tools lead to on this machine, and the missing ones in words."""
    versions, digests, unfound = dict[str, str](), dict[str, str](), list[str]()
    resolver = agent.resolver(context.data_kinds)
    for tool in [toolset.tools[name] for name in sorted(names)]:
        if toolset.activities.get(tool.name) is not None:
            continue  # code runs in the delegate's place
        for reference in delegates_of(tool):
            if not _is_local(reference, tool):
                continue
            try:
                delegate = await resolver(reference, tool)
            except DelegateNotFound:
                unfound.append(f"the Idea {reference!r}")
            except DelegateError:
                continue  # the call itself fails of this
            else:
                versions[reference], digests[reference] = delegate.version, delegate.digest[:12]
    return versions, digests, unfound


def _is_local(reference: Any, tool: Tool) -> bool:
    """Whether a delegate that a tool names is looked up on this machine."""
    if not isinstance(reference, str) or reference == ANONYMOUS or is_url(tool.origin) or is_url(reference):
        return False
    if not reference.startswith(_IDEA):
        return not reference.startswith(SCHEMES)
    try:
        return parse_address(reference).url is None
    except ActumError:
        return False
