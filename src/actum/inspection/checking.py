"""Finds every problem of an Idea and of its local delegates without running anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
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
"""How many delegates are checked."""


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
    """The findings: problems by file and line; if there are none, the form that each provider would get.

    `left_out` says, line by line, what is not known of the Python that the Idea names, for lack of pins (`actum pin`).
    """

    idea: str
    problems: tuple[Problem, ...]
    forms: tuple[Form, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What is correct but may surprise, line by line, for example an Activity that is passed over."""
    sizes: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """The approximate tokens of a first request, as from `sizes`; empty unless asked for."""
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
    for tool in tools:
        register_ideas(Path(tool), code.registry)
    if mcp is not None:
        code.left_out.extend(register_pinned(Path(mcp), code.registry))
    allowed = folders(roots) or default_roots(path.absolute())
    config = code.within(_config_of(value))
    checker = _Checker(agent_at(allowed, tools=code.registry, config=config), allowed, code)
    findings = checker.visit(_File(path.absolute(), str(idea), text, value), None, ())
    checker.problems += [Problem(error=IdeaError(why), file=_shown_path(pins)) for pins, why in code.outdated.items()]
    problems, left_out, notes = tuple(checker.problems), tuple(code.left_out), tuple(checker.notes)
    if problems:
        return Check(idea=str(idea), problems=problems, left_out=left_out, notes=notes)
    request = checker.agent, findings.context or (), findings.schema
    shown = findings.attempt(lambda: forms(*request))
    sized = findings.attempt(lambda: sizes(*request)) if size and shown else None
    return Check(
        idea=str(idea),
        problems=tuple(Problem(error=error, file=str(idea), path=at) for error, at in findings.problems),
        forms=shown or (),
        left_out=left_out,
        notes=notes,
        sizes=sized or {},
        served=None if left_out else served_as(Idea.load(path), path.stem, checker.agent),
    )


def _config_of(value: JsonObject) -> Config:
    """The Idea's config; the default if it is malformed, which is reported elsewhere."""
    config: Any = value.get("config", {})
    try:
        return config_of(config, "the Idea")[0] if is_object(config) else Config()
    except IdeaError:
        return Config()


@dataclass(frozen=True, slots=True)
class _File:
    """An Idea's file as read; `name` is what it is called in problems."""

    path: Path
    name: str
    text: str
    value: JsonObject


@dataclass(slots=True)
class _Checker:
    """Goes from an Idea to its delegates: to each file once for each set of scopes that it is called with."""

    agent: Agent
    roots: Sequence[Path]
    code: Code
    problems: list[Problem] = field(default_factory=list[Problem])
    notes: list[str] = field(default_factory=list[str])
    _visited: set[tuple[Path, frozenset[str]]] = field(default_factory=set[Any])

    def visit(self, file: _File, scopes: frozenset[str] | None, chain: tuple[_File, ...]) -> Findings:
        """Check one file, then its delegates; `scopes` are what its caller lets through, None for the user's Idea."""
        # A delegate is given its input, and what its caller's scopes name (D5).
        incoming = None if scopes is None else [Reference("input"), *map(scope_path, sorted(scopes))]
        grants = self.agent.config.grants
        findings = Findings(assembled(self.agent).linking(), self.code, self.roots, file.path, incoming, grants)
        inspect(file.value, findings)
        whole = (*chain, file)
        below: list[tuple[_File, frozenset[str]]] = []
        for tool, at in _delegated(findings):
            for reference in filter(ANONYMOUS.__ne__, delegates_of(tool)):
                inner = findings.attempt(partial(self._delegate, reference, tool, whole), *at)
                if inner is not None:
                    below.append((inner, frozenset(scope for name, scope in findings.scopes if name == tool.name)))
        self._report(file, findings)
        for inner, crossing in below:
            key = (inner.path, crossing)
            if key not in self._visited and len(self._visited) < _MOST_FILES:
                self._visited.add(key)
                self.visit(inner, crossing, whole)
        return findings

    def _delegate(self, reference: str, tool: Tool, chain: tuple[_File, ...]) -> _File | None:
        """The file of a delegate to look at, None if it isn't in a file.

        Raises:
            ActumError: what is wrong with the reference.
        """
        config = self.agent.config
        if is_url(reference) or self.agent.tools.find_activity(reference) is not None:
            return None
        if reference.startswith(SCHEMES):
            str(Remote(address=reference, token=None, allow_hosts=config.allow_hosts, most_bytes=0).base)  # checks it
            return None
        if "://" in reference or reference.startswith("idea:"):
            return blocking(self._look_up(reference, tool))
        try:
            path = locate(reference, [Path(tool.origin).parent] if tool.origin else self.roots, self.roots)
            _check_depth(path, chain, config.max_depth)
            name = _shown_path(path)
            text = read_below(path, self.roots, config.max_delegate_bytes).decode("utf-8")
            return _File(path, name, text, parsed(text, name))
        except DelegateError as error:
            raise type(error)(error.reason, tool=tool.name) from error
        except (IdeaError, UnicodeDecodeError) as error:
            raise DelegateError(f"{reference!r} is not an Idea: {error}", tool=tool.name) from error

    async def _look_up(self, reference: str, tool: Tool) -> None:
        """Resolve a reference that is not a path, unless that takes a request to its domain's server."""
        if not reference.startswith("idea:") or parse_address(reference).url is None:
            await assembled(self.agent).resolver()(reference, tool)

    def _report(self, file: _File, findings: Findings) -> None:
        positions = Positions("" if file.name.endswith((".yaml", ".yml")) else file.text)
        # A module that isn't pinned may hold an unknown tool; of a delegate, only if it names modules or tools.
        has_modules = findings.incoming is None or findings.loaded or _config_of(file.value).tools
        if has_modules and self.code.left_out:
            unknown = [(error, at) for error, at in findings.problems if isinstance(error, UnknownTool)]
            findings.problems = [problem for problem in findings.problems if problem not in unknown]
            findings.notes += [(f"the tool {error.tool!r} isn't known here", at) for error, at in unknown]
        for words, at in findings.notes:
            line, column = positions.of(at)
            where = f"{file.name}:{line}:{column}"
            self.notes += [note for note in [f"{where}: {words}"] if note not in self.notes]
        reported = {(problem.file, problem.path, problem.error.message) for problem in self.problems}
        listed: list[Problem] = []
        for error, at in findings.problems:
            if (file.name, at, error.message) not in reported:
                line, column = positions.of(at)
                listed.append(Problem(error=error, file=file.name, path=at, line=line, column=column))
        self.problems += sorted(listed, key=lambda problem: (problem.line, problem.column))


def _check_depth(path: Path, chain: Sequence[_File], most: int) -> None:
    """Refuse a delegate that its chain of callers holds already, or that nests too deep."""
    start = next((index for index, file in enumerate(chain) if file.path.resolve() == path), None)
    if start is not None:
        cycle = " → ".join([*(file.name for file in chain[start:]), chain[start].name])
        raise DelegateDepthExceeded(f"it delegates to itself without end: {cycle}")
    if len(chain) > most:
        raise DelegateDepthExceeded(f"delegates nest deeper than {most}")


def _delegated(findings: Findings) -> Iterator[tuple[Tool, JsonPath]]:
    """The delegated tools that a file defines, with the path of each."""
    for index, message in enumerate(findings.context or ()):
        if message.get("type") == "tool" and findings.toolset is not None:
            for tool in tools_of(message, index, str(findings.file)):
                if tool.is_delegated:
                    path = (tool.name,) if tool.name in message["tool"] else ()
                    yield tool, ("context", index, "tool", *path)


def _shown_path(path: Path) -> str:
    cwd = Path.cwd().resolve()
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
