"""The official TypeScript client in both eras: the host's model by sampling, and its user by a form."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from interop import parts
from interop.ideas import greeting

from .conftest import output_of


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
def test_a_model_that_is_the_hosts_plans_and_its_user_approves(
    node: parts.Node, actum: list[str], era: str, tmp_path: Path
) -> None:
    client = node.modules.parent / "client.mjs"  # which finds its modules beside it
    shutil.copy(Path(__file__).with_name("client.mjs"), client)
    serving = [*actum, "serve", str(greeting(tmp_path)), "--stdio", "--approve", "hold", "--store", ":memory:"]
    told = output_of([node.program, str(client), era, "greet", '{"who": "Ann"}', *serving], tmp_path)
    seen = json.loads(told)
    assert seen["tools"] == ["greet", "answer"]
    assert seen["result"]["structuredContent"] == {"done": True, "output": "sent to Ann"}
    assert seen["asked"] == ['Shall this call be made? send {"to":"Ann"}']
    assert seen["sampled"] == 1
    assert seen["progress"] > 0
