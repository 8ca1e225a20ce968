"""The parts of the page that are made of captures and programs: the table, the code that matters, the requests."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from job import SECRETS
from settings import SETTINGS, Setting

HERE = Path(__file__).parent
PAGE = HERE.with_suffix(".md")
CAPTURED = HERE / "captured"
BLOCK = re.compile(r"<!-- made: (?P<name>[\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
SEEN, UNSEEN = "**seen**", "–"


def capture_of(setting: Setting) -> dict[str, Any]:
    """The committed capture of a setting."""
    return json.loads((CAPTURED / f"{setting.id}.json").read_text(encoding="utf-8"))


def body_text(body: dict[str, Any]) -> str:
    """A request's body as compact JSON: what secrets are looked for in, and what is counted."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def rendered(page: str) -> str:
    """The page with all that stands between markers made anew."""
    made = {"table": table()} | {setting.id: exhibit(setting) for setting in SETTINGS}
    return BLOCK.sub(lambda match: f"<!-- made: {match['name']} -->\n{made[match['name']]}\n<!-- end -->", page)


def table() -> str:
    """What of the parent's context occurs in each sub-agent's request."""
    heads = ["system", "setting", *SECRETS, "card number, if the parent's model copies it", "bytes"]
    lines = [heads, ["---"] * len(heads), *map(row, SETTINGS)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def row(setting: Setting) -> list[str]:
    """One setting's line of the table."""
    capture = capture_of(setting)
    text = body_text(capture["sub_agent"])
    careless = body_text(capture["sub_agent_of_a_careless_parent"])
    seen = [secret in text for secret in SECRETS.values()] + [SECRETS["private record"] in careless]
    marks = [SEEN if is_seen else UNSEEN for is_seen in seen]
    return [setting.system, setting.title, *marks, str(len(text.encode()))]


def exhibit(setting: Setting) -> str:
    """One setting's code, and the request that its sub-agent's model was sent, folded."""
    capture = capture_of(setting)
    versions = ", ".join(f"{name} {version}" for name, version in capture["versions"].items())
    body = json.dumps(capture["sub_agent"], ensure_ascii=False, indent=2)
    return "\n".join(
        [
            f"```py\n{excerpt(setting)}\n```",
            "",
            f"<details><summary>what the translator's model was sent ({versions})</summary>",
            "",
            f"`POST {capture['path']}`",
            "",
            f"```json\n{body}\n```",
            "",
            "</details>",
        ]
    )


def excerpt(setting: Setting) -> str:
    """The definitions of a program that its setting names, as they stand in the file."""
    source = (HERE / setting.program).read_text(encoding="utf-8")
    named = {name: node for node in ast.parse(source).body for name in _names(node)}
    lines = source.splitlines()
    texts = ["\n".join(lines[_start(named[name]) - 1 : named[name].end_lineno]) for name in setting.shown]
    return "\n\n".join(texts)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def _start(node: ast.stmt) -> int:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.decorator_list:
        return node.decorator_list[0].lineno
    return node.lineno
