"""What five MCP servers cost a host in context, round trips and time: their tools as they are, code, and plans.

`python -m bench.mcp_hosts` carries one task out in three ways over the same real servers, and writes the table of
docs/mcp.md. The answers of the model are written here, those of a good one in each way: they make all calls in parallel
that can be. A token is four bytes. What the tools return goes through the host's context where the way needs that.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interop import parts
from mcp import Client

from actum import Runs, Tools, connections
from actum.connections import Servers
from actum.execution.approver import Reply
from actum.schema.json import encode
from actum.serving.carry_out import nearest
from actum.serving.desk import Desk
from actum.serving.mcp_options import McpOptions
from actum.serving.mcp_server import Host

PAGE = Path(__file__).parents[1] / "docs" / "mcp.md"
BEGIN, END = "<!-- bench:mcp -->", "<!-- /bench -->"
TASK = (
    "Which of the notes in the folder is the longest, in words? Keep the number of words of each in the memory, as "
    "entities of the type note, and announce the longest by echo, with the time in Lisbon and who made the last commit."
)
WORDS = {"alpha.txt": 900, "beta.txt": 1_500, "gamma.txt": 1_200}
RUNS = 5
MOST = 10
SEARCH = "list directory, read text file, git log, current time, create entities, echo message"


@dataclass
class Transcript:
    """What a host's model is shown and says. `tools` are as the host puts them before it."""

    tools: Sequence[Any]
    messages: list[Any] = field(default_factory=list[Any])
    sizes: list[int] = field(default_factory=list[int])
    written: int = 0

    def __post_init__(self) -> None:
        self.messages.append({"role": "user", "content": TASK})

    def request(self, answer: Any) -> None:
        """One request, and its answer."""
        self.sizes.append(_size(self.tools) + _size(self.messages))
        self.written += _size(answer)
        self.messages.append(answer)

    def results(self, *results: Any) -> None:
        """What the calls of the last answer came to."""
        self.messages.extend({"role": "tool", "content": result} for result in results)


def _size(value: Any) -> int:
    return len(encode(value).encode())


@dataclass
class Way:
    """One way to the same answer."""

    name: str
    carry_out: Callable[[Bench], Awaitable[Transcript]]


@dataclass
class Bench:
    """The servers, and the folder that they look into."""

    servers: Servers
    folder: Path
    host: Client | None = None
    """A client of `actum mcp serve` over the same servers."""
    round: int = 0

    def listed(self) -> list[Any]:
        """All tools as hosts put them before a model: names, descriptions, parameters."""
        return [
            {"name": f"{name}__{tool}", **{key: declaration.get(key) for key in ("description", "inputSchema")}}
            for name, connection in self.servers.connections.items()
            for tool, declaration in connection.listed.items()
        ]

    async def call(self, tool: str, **given: Any) -> Any:
        """One call of a tool."""
        return (await self.servers.call(tool, given)).value

    def path(self, name: str = "") -> str:
        """A path in the folder."""
        return str(self.folder / name)

    def entity(self, name: str) -> str:
        """An entity's name, new in each round."""
        return f"{name}-{self.round}"


async def _in_turn(bench: Bench) -> Transcript:
    """The servers' own tools, called as the host's model asks, in parallel where it can."""
    transcript = Transcript(bench.listed())
    listing = ("filesystem/list_directory", {"path": bench.path("notes")})
    log = ("git/git_log", {"repo_path": bench.path(), "max_count": 1})
    clock = ("time/get_current_time", {"timezone": "Europe/Lisbon"})
    results = await _asked(bench, transcript, listing, log, clock)
    names = sorted(line.removeprefix("[FILE] ") for line in results[0]["content"].splitlines())
    texts = await _asked(
        bench, transcript, *(("filesystem/read_text_file", {"path": bench.path(f"notes/{name}")}) for name in names)
    )
    counts = {name: len(text["content"].split()) for name, text in zip(names, texts, strict=True)}
    entities = [
        {"name": bench.entity(name), "entityType": "note", "observations": [f"{count} words"]}
        for name, count in counts.items()
    ]
    longest = max(counts, key=lambda name: counts[name])
    author = results[1].partition("Author: ")[2].splitlines()[0]
    words = f"{longest}: {counts[longest]} words; {results[2]['datetime']}; {author}"
    await _asked(
        bench, transcript, ("memory/create_entities", {"entities": entities}), ("everything/echo", {"message": words})
    )
    transcript.request({"role": "assistant", "content": words})
    return transcript


async def _asked(bench: Bench, transcript: Transcript, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """One request whose answer makes these calls."""
    transcript.request(
        {"role": "assistant", "calls": [{"name": name.replace("/", "__"), "arguments": given} for name, given in calls]}
    )
    results = await asyncio.gather(*(bench.call(name, **given) for name, given in calls))
    transcript.results(*results)
    return list(results)


PROGRAM = """
listing = await filesystem__list_directory(path=FOLDER + "/notes")
names = sorted(line.removeprefix("[FILE] ") for line in listing["content"].splitlines())
texts = await gather(*(filesystem__read_text_file(path=FOLDER + "/notes/" + n) for n in names))
counts = {n: len(t["content"].split()) for n, t in zip(names, texts)}
log = await git__git_log(repo_path=FOLDER, max_count=1)
clock = await time__get_current_time(timezone="Europe/Lisbon")
longest = max(counts, key=counts.get)
words = f"{longest}: {counts[longest]} words; {clock['datetime']}; {log.partition('Author: ')[2].splitlines()[0]}"
note = {"entityType": "note"}
notes = [{**note, "name": n + ROUND, "observations": [f"{c} words"]} for n, c in counts.items()]
await memory__create_entities(entities=notes)
await everything__echo(message=words)
return words
"""


async def _by_code(bench: Bench, *, is_searched: bool) -> Transcript:
    """Code mode: one tool that runs a program over all tools, as declarations that the model is shown, or searches."""
    declared = {tool["name"]: _declaration(tool) for tool in bench.listed()}
    words = "Runs a Python program over these functions; what it returns comes back."
    takes = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
    run = {"name": "run_code", "description": words, "inputSchema": takes}
    search = {"name": "search_tools", "description": "Finds functions for run_code.", "inputSchema": {
        "type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}  # fmt: skip
    if is_searched:
        transcript = Transcript([run, search])
        transcript.request({"role": "assistant", "calls": [{"name": "search_tools", "arguments": {"query": SEARCH}}]})
        tools_ = nearest(list(bench.servers.tools.values()), SEARCH)[:MOST]
        transcript.results("\n".join(declared[tool.name.replace("/", "__")] for tool in tools_))
    else:
        transcript = Transcript([{**run, "description": "\n".join([words, *declared.values()])}])
    code = PROGRAM.replace("FOLDER", repr(bench.path())).replace("ROUND", repr(f"-{bench.round}"))
    transcript.request({"role": "assistant", "calls": [{"name": "run_code", "arguments": {"code": code}}]})
    transcript.results(await _run(bench, code))
    transcript.request({"role": "assistant", "content": transcript.messages[-1]["content"]})
    return transcript


def _declaration(tool: Any) -> str:
    """A function as code modes declare it: typed parameters, and the whole description."""
    properties = tool["inputSchema"].get("properties", {})
    required = tool["inputSchema"].get("required", [])
    taken = ", ".join(
        f"{name}: {_type(schema)}{'' if name in required else ' = None'}" for name, schema in properties.items()
    )
    return f'async def {tool["name"]}({taken}) -> Any:\n    """{tool["description"]}"""'


def _type(schema: Any) -> str:
    kinds = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
    match schema.get("type"):
        case "array":
            return f"list[{_type(schema.get('items', {}))}]"
        case "object":
            inner = ", ".join(f"{name}: {_type(part)}" for name, part in schema.get("properties", {}).items())
            return f"{{{inner}}}"
        case kind:
            return kinds.get(str(kind), "Any")


async def _run(bench: Bench, code: str) -> Any:
    def function(tool: str) -> Callable[..., Awaitable[Any]]:
        async def call(**given: Any) -> Any:
            return await bench.call(tool, **given)

        return call

    known: dict[str, Any] = {name.replace("/", "__"): function(name) for name in bench.servers.tools}
    known["gather"] = asyncio.gather
    body = "\n".join(f"    {line}" for line in code.strip().splitlines())
    exec(f"async def program():\n{body}", known)  # what a code mode does, on the code above
    return await known["program"]()


async def _by_plan(bench: Bench) -> Transcript:
    """`carry_out`: the host's model finds the tools that it needs, and writes one plan."""
    client = bench.host
    assert client is not None
    listed = [tool.model_dump(by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools]
    transcript = Transcript([{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in listed])
    for name, given in (("find_tools", {"query": SEARCH}), ("carry_out", _plan(bench))):
        transcript.request({"role": "assistant", "calls": [{"name": name, "arguments": given}]})
        result = await client.call_tool(name, given)
        assert not result.is_error, _text(result)
        transcript.results(_text(result))
    transcript.request({"role": "assistant", "content": transcript.messages[-1]["content"]})
    return transcript


def _plan(bench: Bench) -> dict[str, Any]:
    count = "len(†calls.1[i].content.split())"
    names = "sorted(l[7:] for l in †calls.0.content.splitlines())"
    entity = f"{{'name': n + '-{bench.round}', 'entityType': 'note', 'observations': [f'{{c}} words']}}"
    longest = "max(†calls.2, key=lambda pair: pair[1])"
    author = "†calls.3.split('Author: ')[1].splitlines()[0]"
    message = f"{{{longest}[0]}}: {{{longest}[1]}} words; {{†calls.4.datetime}}; {{{author}}}"
    return {
        "calls": [
            {"_tool": "filesystem/list_directory", "path": bench.path("notes")},
            {"_tool": "filesystem/read_text_file", "_each": f"{{{names}}}", "path": f"{bench.path('notes')}/{{†each}}"},
            {"_value": f"{{[[n, {count}] for i, n in enumerate({names})]}}"},
            {"_tool": "git/git_log", "repo_path": bench.path(), "max_count": 1},
            {"_tool": "time/get_current_time", "timezone": "Europe/Lisbon"},
            {"_tool": "memory/create_entities", "entities": f"{{[{entity} for n, c in †calls.2]}}"},
            {"_tool": "everything/echo", "message": message},
        ],
        "output": "†calls.6",
    }


def _text(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def _agree(*_: object) -> Reply:
    return True


WAYS = (
    Way("the servers' own tools", _in_turn),
    Way("code mode, all functions shown", lambda bench: _by_code(bench, is_searched=False)),
    Way("code mode, functions searched", lambda bench: _by_code(bench, is_searched=True)),
    Way("`carry_out` and `find_tools`", _by_plan),
)


def _file(folder: Path) -> Path:
    """The file of the five servers, and a repository with notes."""
    (folder / "notes").mkdir()
    for name, count in WORDS.items():
        (folder / "notes" / name).write_text(" ".join(f"word{index % 97}" for index in range(count)))
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-C", str(folder)]
    for command in (["init", "-q"], ["add", "notes"], ["commit", "-qm", "Notes"]):
        subprocess.run([*git, *command], check=True)
    node, servers = parts.node(), parts.servers()
    entries: dict[str, Any] = {}
    for name, arguments in {"everything": ["stdio"], "filesystem": ["."], "memory": []}.items():
        program, script = node.script("@modelcontextprotocol", f"server-{name}", "dist", "index.js")
        entries[name] = {"command": program, "args": [script, *arguments], "cwd": str(folder), "trusted": True}
    entries["memory"]["env"] = {"MEMORY_FILE_PATH": str(folder / "memory.json")}
    entries["time"] = {"command": str(servers / "mcp-server-time"), "trusted": True}
    entries["git"] = {"command": str(servers / "mcp-server-git"), "cwd": str(folder), "trusted": True}
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": entries}))
    return config


async def measured(folder: Path) -> list[str]:
    """The rows of the table."""
    rows: list[str] = []
    tools = Tools()
    async with connections.open(_file(folder)) as servers, Runs(folder / "runs.db") as runs:
        servers.register(tools)
        serving = Host.of(Desk(ideas={}, runs=runs, mcp=McpOptions(graph=tools, approve=_agree)))
        async with Client(serving.server(), mode="2026-07-28") as host:
            bench, answers = Bench(servers, folder, host), set[str]()
            for way in WAYS:
                row, answer = await _row(bench, way)
                rows.append(row)
                answers.add(answer)
        assert answers == {f"{max(WORDS.values())} words"}, answers  # all ways come to the same
        counts = f"{len(servers.tools)} tools of {len(servers.connections)} servers"
    head = f"| {counts} | tools | requests | tokens in, all | in the last | tokens out | time without the model |"
    return [head, "|---|---|---|---|---|---|---|", *rows]


async def _row(bench: Bench, way: Way) -> tuple[str, str]:
    """What one way costs, and what it came to."""
    taken: list[float] = []
    transcript = Transcript([])
    for _ in range(RUNS):
        bench.round += 1
        began = time.perf_counter()
        transcript = await way.carry_out(bench)
        taken.append(time.perf_counter() - began)
    tokens = [size // 4 for size in transcript.sizes]
    milliseconds = round(sorted(taken)[len(taken) // 2] * 1_000)
    counts = (_size(transcript.tools) // 4, len(tokens), sum(tokens), tokens[-1], transcript.written // 4)
    row = f"| {way.name} | {' | '.join(f'{count:,}' for count in counts)} | {milliseconds:,} ms |"
    return row, str(transcript.messages[-1]["content"]).partition("beta.txt: ")[2].partition(";")[0]


def main() -> None:
    """Measure, print, and write the table into the page."""
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measured(Path(folder).resolve()))
    print("\n".join(rows))
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(rows) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
