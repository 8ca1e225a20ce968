"""Every problem of an Idea and of the local delegates that it leads to, found without running anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..app.agent import Agent, assembled
from ..app.coercion import blocking
from ..app.idea import Idea
from ..app.loading import Code, agent_at, config_of, register_ideas
from ..connections.looking import register_pinned
from ..dataflow.reference import Reference
from ..errors import ActumError, DelegateDepthExceeded, DelegateError, IdeaError, UnknownTool
from ..ideas.layout import Positions
from ..ideas.store import parse_address
from ..protocol.config import Config
from ..protocol.context import is_url
from ..protocol.declaration import tools_of
from ..protocol.scopes import scope_path
from ..protocol.tool import ANONYMOUS, Tool, delegates_of
from ..schema.json import JsonObject, is_object
from ..sources.actum_server import SCHEMES, Remote
from ..sources.files import read_text
from ..sources.roots import default_roots, folders, locate, read_below
from .forms import Form, forms, sizes
from .plan_problems import JsonPath
from .problems import Findings, inspect, parsed
from .served import Serving, served_as

_MOST_FILES = 200
"""How many delegates are looked into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong. `path` is where it is in the JSON of `file`; `line` and `column` count from 1."""

    error: ActumError
    file: str
    path: JsonPath = ()
    line: int = 1
    column: int = 1

    def to_dict(self) -> JsonObject:
        """The problem as JSON."""
        return {"file": self.file, "line": self.line, "column": self.column, **self.error.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was found: the problems by file and line; if there are none, the form that each provider would get.

    `left_out` says, line by line, what of the Python that is named is not known, since no pins tell it (`actum pin`).
    """

    idea: str
    problems: tuple[Problem, ...]
    forms: tuple[Form, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What is right and may surprise, line by line: an Activity that is passed over."""
    sizes: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """About how many tokens a first request has, as `sizes` tells it; empty where that wasn't asked for."""
    served: Serving | None = None
    """How it would be served to hosts of MCP, if there are no problems and all of its tools are known."""


def check(
    idea: str | Path,
    *,
    activities: Sequence[str] = (),
    tools: Sequence[str] = (),
    roots: Sequence[str] = (),
    mcp: str | Path | None = None,
    size: bool = False,
) -> Check:
    """Find every problem of an Idea's file, and of its local delegates; none of it runs, Python included.

    What a URL leads to is not looked at.

    Args:
        idea: its file.
        activities: modules or files with Activities, in addition to those that the Idea names.
        tools: Ideas, or folders of them, that are offered as tools.
        roots: the folders that paths may lead into; as for a run, its own by default.
        mcp: a file of MCP servers whose pinned tools are offered; none of them is started.
        size: also estimate the tokens of a first request.

    Raises:
        IdeaError: the file can't be read, or is not JSON.
        ServerError: the file of servers can't be used.
    """
    path = Path(idea)
    text = read_text(path)
    value = parsed(text, str(idea))
    code = Code.to_read(activities)
    code.take_named()
    for own in tools:
        register_ideas(Path(own), code.registry)
    if mcp is not None:
        code.left_out.extend(register_pinned(Path(mcp), code.registry))
    allowed = folders(roots) or default_roots(path.absolute())
    config = code.within(_config_of(value))
    checker = _Checker(agent_at(allowed, tools=code.registry, config=config), allowed, code)
    found = checker.visit(_File(path.absolute(), str(idea), text, value), None, ())
    checker.problems += [Problem(error=IdeaError(why), file=_named(pins)) for pins, why in code.outdated.items()]
    problems, left_out, notes = tuple(checker.problems), tuple(code.left_out), tuple(checker.notes)
    if problems:
        return Check(idea=str(idea), problems=problems, left_out=left_out, notes=notes)
    shown = found.attempt(lambda: forms(checker.agent, found.context or (), found.schema))
    sized = found.attempt(lambda: sizes(checker.agent, found.context or (), found.schema)) if size and shown else None
    return Check(
        idea=str(idea),
        problems=tuple(Problem(error=error, file=str(idea), path=at) for error, at in found.problems),
        forms=shown or (),
        left_out=left_out,
        notes=notes,
        sizes=sized or {},
        served=None if left_out else served_as(Idea.load(path), path.stem, checker.agent),
    )


def _config_of(value: JsonObject) -> Config:
    """The Idea's config; the default if it is wrong, which is reported elsewhere."""
    config: Any = value.get("config", {})
    try:
        return config_of(config, "the Idea")[0] if is_object(config) else Config()
    except IdeaError:
        return Config()


@dataclass(frozen=True, slots=True)
class _File:
    """An Idea's file, as it was read; `name` is what it is called in problems."""

    path: Path
    name: str
    text: str
    value: JsonObject


@dataclass(slots=True)
class _Checker:
    """Goes from an Idea to its delegates, each file once for each set of scopes that it is called with."""

    agent: Agent
    roots: Sequence[Path]
    code: Code
    problems: list[Problem] = field(default_factory=list[Problem])
    notes: list[str] = field(default_factory=list[str])
    _seen: set[tuple[Path, frozenset[str]]] = field(default_factory=set[Any])

    def visit(self, file: _File, scopes: frozenset[str] | None, chain: tuple[_File, ...]) -> Findings:
        """Look at one file, then at its delegates; `scopes` are what its caller lets through, None for its user."""
        # What a delegate is given: its input, and what its caller's scopes name (D5).
        incoming = None if scopes is None else [Reference("input"), *map(scope_path, sorted(scopes))]
        grants = self.agent.config.grants
        found = Findings(assembled(self.agent).linking(), self.code, self.roots, file.path, incoming, grants)
        inspect(file.value, found)
        whole = (*chain, file)
        below: list[tuple[_File, frozenset[str]]] = []
        for tool, at in _delegated(found):
            for reference in filter(ANONYMOUS.__ne__, delegates_of(tool)):
                inner = self._delegate(reference, tool, at, found, whole)
                if inner is not None:
                    below.append((inner, frozenset(scope for name, scope in found.scopes if name == tool.name)))
        self._tell(file, found)
        for inner, crossing in below:
            key = (inner.path, crossing)
            if key not in self._seen and len(self._seen) < _MOST_FILES:
                self._seen.add(key)
                self.visit(inner, crossing, whole)
        return found

    def _delegate(
        self, reference: str, tool: Tool, at: JsonPath, found: Findings, chain: tuple[_File, ...]
    ) -> _File | None:
        """The file of a delegate that is still to be looked at; what is wrong with the reference is noted."""
        if is_url(reference) or self.agent.tools.find_activity(reference) is not None:
            return None
        if reference.startswith(SCHEMES):
            allowed = self.agent.config.allow_hosts
            found.attempt(lambda: Remote(address=reference, token=None, allow_hosts=allowed, most_bytes=0).base, *at)
            return None
        if "://" in reference or reference.startswith("idea:"):
            found.attempt(lambda: blocking(self._look_up(reference, tool)), *at)
            return None
        path = found.attempt(lambda: self._located(reference, tool), *at)
        if path is None:
            return None
        around = next((index for index, file in enumerate(chain) if file.path.resolve() == path), None)
        if around is not None:
            circle = " → ".join([*(file.name for file in chain[around:]), chain[around].name])
            error = DelegateDepthExceeded(f"it delegates to itself without end: {circle}", tool=tool.name)
            found.problems.append((error, at))
            return None
        most = self.agent.config.max_depth
        if len(chain) > most:
            error = DelegateDepthExceeded(f"delegates nest deeper than {most}", tool=tool.name)
            found.problems.append((error, at))
            return None
        return found.attempt(lambda: self._read(path, reference, tool), *at)

    async def _look_up(self, reference: str, tool: Tool) -> None:
        """Find what is not a path, unless its domain's own server would have to be asked."""
        if not reference.startswith("idea:") or parse_address(reference).url is None:
            await assembled(self.agent).resolver()(reference, tool)

    def _located(self, reference: str, tool: Tool) -> Path:
        try:
            return locate(reference, [Path(tool.origin).parent] if tool.origin else self.roots, self.roots)
        except DelegateError as error:
            raise type(error)(error.reason, tool=tool.name) from error

    def _read(self, path: Path, reference: str, tool: Tool) -> _File:
        name = _named(path)
        try:
            text = read_below(path, self.roots, self.agent.config.max_delegate_bytes).decode("utf-8")
            return _File(path, name, text, parsed(text, name))
        except DelegateError as error:
            raise type(error)(error.reason, tool=tool.name) from error
        except (IdeaError, UnicodeDecodeError) as error:
            raise DelegateError(f"{reference!r} is not an Idea: {error}", tool=tool.name) from error

    def _tell(self, file: _File, found: Findings) -> None:
        positions = Positions("" if file.name.endswith((".yaml", ".yml")) else file.text)
        takes = found.incoming is None or found.loaded or _config_of(file.value).tools  # a delegate: only what it names
        if takes and self.code.left_out:  # which may hold the tool
            unsure = [(error, at) for error, at in found.problems if isinstance(error, UnknownTool)]
            found.problems = [one for one in found.problems if one not in unsure]
            found.notes += [(f"the tool {error.tool!r} isn't known here", at) for error, at in unsure]
        for words, at in found.notes:
            line, column = positions.of(at)
            where = f"{file.name}:{line}:{column}"
            self.notes += [note for note in [f"{where}: {words}"] if note not in self.notes]
        told = {(one.file, one.path, one.error.message) for one in self.problems}
        listed: list[Problem] = []
        for error, at in found.problems:
            if (file.name, at, error.message) not in told:
                line, column = positions.of(at)
                listed.append(Problem(error=error, file=file.name, path=at, line=line, column=column))
        self.problems += sorted(listed, key=lambda one: (one.line, one.column))


def _delegated(found: Findings) -> Iterator[tuple[Tool, JsonPath]]:
    """The delegated tools that a file brings along, with the place of each."""
    for index, message in enumerate(found.context or ()):
        if message.get("type") == "tool" and found.toolset is not None:
            for tool in tools_of(message, index, str(found.file)):
                if tool.is_delegated:
                    named = (tool.name,) if tool.name in message["tool"] else ()
                    yield tool, ("context", index, "tool", *named)


def _named(path: Path) -> str:
    here = Path.cwd().resolve()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
