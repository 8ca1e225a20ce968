"""No request leaves where tests forbid it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from actum import Agent, errors, models, testing

ASKING = """
from actum import Agent, errors
try:
    Agent("openai:gpt-5.2").run_sync("Hi")
except errors.ModelError as error:
    print(error.code)
"""


@pytest.mark.parametrize("name", ["openai:gpt-5.2", "anthropic:claude-opus-4-5", "ollama:qwen3", "google:gemini-3-pro"])
def test_no_provider_is_asked_with_a_key_or_without(name: str) -> None:
    with testing.no_requests():
        for key in (None, "key"):
            with pytest.raises(errors.ModelError, match="no request may be made here") as refused:
                Agent(models.load(name, api_key=key)).run_sync("Hi")
            assert (refused.value.code, refused.value.retryable) == ("model_forbidden", False)


def test_a_host_that_is_named_may_be_asked() -> None:
    near = models.load("openai:gpt-5.2", base_url="http://127.0.0.1:9/v1", api_key="key", retries=0)
    with testing.no_requests(but=["127.0.0.1"]):
        with pytest.raises(errors.ModelError) as failed:
            Agent(near).run_sync("Hi")
        assert failed.value.code == "model_connection"
        with pytest.raises(errors.ModelError, match="no request"):
            Agent(models.load("openai:gpt-5.2", base_url="http://127.0.0.1.evil.test/v1", api_key="key")).run_sync("Hi")


def test_what_is_asked_over_no_network_answers() -> None:
    with testing.no_requests():
        assert Agent(models.Scripted([{"calls": [], "output": "Hi"}])).run_sync("Hi", str).output == "Hi"


def test_blocks_nest_and_hold_in_processes_that_are_started() -> None:
    before = dict(os.environ)
    with testing.no_requests():
        with testing.no_requests(but=["a.test"]):
            pass
        done = subprocess.run([sys.executable, "-c", ASKING], capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout == "model_forbidden\n"
    assert dict(os.environ) == before
