"""The suite of conformance against Ideas over HTTP, in both revisions, with baselines that only shrink.

A scenario that fails and is no part of its baseline fails the test, and so does one that passes and still is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from interop import parts

from .conftest import output_of

HERE = Path(__file__).parent


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_all_passes_but_what_ideas_do_not_serve(node: parts.Node, port: int, revision: str, tmp_path: Path) -> None:
    suite = node.script("@modelcontextprotocol", "conformance", "dist", "index.js")
    where = ["--url", f"http://127.0.0.1:{port}/mcp", "--requirements", revision, "-o", str(tmp_path)]
    told = output_of([*suite, "server", *where, "--expected-failures", str(HERE / f"baseline-{revision}.yml")])
    assert "SUMMARY" in told
