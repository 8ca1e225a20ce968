"""The official Inspector: no error of portability in any schema, and a host that has tools and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interop import parts

from .conftest import ROOT, output_of

CORPUS = ROOT / "examples" / "corpus" / "corpus.json"


def inspect(node: parts.Node, server: list[str], *more: str) -> str:
    launcher = node.script("@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
    return output_of([*launcher, "--cli", *server, *more, "--format", "json"])


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_example_is_listed_without_a_finding_and_called(
    node: parts.Node, actum: list[str], era: str, tmp_path: Path
) -> None:
    server = [*actum, "serve", str(CORPUS), "--stdio", "--graph", "--store", ":memory:"]
    listed = inspect(node, server, "--method", "tools/list", "--strict", "--protocol-era", era)
    assert all(name in listed for name in ('"corpus"', '"carry_out"', '"answer"'))
    given = json.dumps({"out": str(tmp_path / "out")})
    called = inspect(
        node,
        server,
        "--method",
        "tools/call",
        "--tool-name",
        "corpus",
        "--tool-args-json",
        given,
        "--protocol-era",
        era,
    )
    assert "report.html" in called
    assert (tmp_path / "out" / "report.html").exists()
