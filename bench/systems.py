"""The systems that are measured: a name, an environment, a runner in it and a setting of that."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One row of the tables. `imports` is what a user of it writes first; `distribution` names its version."""

    name: str
    environment: str
    runner: str
    distribution: str
    imports: str
    variant: str = ""
    note: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether it is Actum, in one of its settings."""
        return self.environment == "actum"


ALL = (
    System(
        name="actum",
        environment="actum",
        runner="actum",
        distribution="actum",
        imports="from actum import Agent, Tools, models",
        note="what api.openai.com is sent: a strict schema",
    ),
    System(
        name="actum (unknown host)",
        environment="actum",
        runner="actum",
        distribution="actum",
        imports="from actum import Agent, Tools, models",
        variant="compatible",
        note="what any other OpenAI-compatible host is sent: the schema in words, too",
    ),
    System(
        name="actum (flow off)",
        environment="actum",
        runner="actum",
        distribution="actum",
        imports="from actum import Agent, Tools, models",
        variant="plain",
        note="Config(flow=False) but in the batch: no conditions, items or computed values are offered",
    ),
    System(
        name="openai sdk",
        environment="openai",
        runner="openai_sdk",
        distribution="openai",
        imports="from openai import AsyncOpenAI, pydantic_function_tool",
        note="the guide's own loop, calls gathered",
    ),
    System(
        name="pydantic-ai",
        environment="pydantic-ai",
        runner="pydantic_ai",
        distribution="pydantic-ai-slim",
        imports="from pydantic_ai import Agent; from pydantic_ai.models.openai import OpenAIChatModel",
        note="native output, parallel tools",
    ),
    System(
        name="pydantic-ai (stream)",
        environment="pydantic-ai",
        runner="pydantic_ai",
        distribution="pydantic-ai-slim",
        imports="from pydantic_ai import Agent; from pydantic_ai.models.openai import OpenAIChatModel",
        variant="stream",
        note="the same with run_stream_events",
    ),
    System(
        name="code mode",
        environment="code-mode",
        runner="code_mode",
        distribution="pydantic-ai-harness",
        imports="from pydantic_ai import Agent; from pydantic_ai_harness import CodeMode",
        note="pydantic-ai-harness: one program over the tools",
    ),
    System(
        name="code mode (eager)",
        environment="code-mode",
        runner="code_mode",
        distribution="pydantic-ai-harness",
        imports="from pydantic_ai import Agent; from pydantic_ai_harness import CodeMode",
        variant="eager",
        note="the program runs while it arrives",
    ),
    System(
        name="openai-agents",
        environment="openai-agents",
        runner="openai_agents",
        distribution="openai-agents",
        imports="from agents import Agent, Runner, function_tool",
        note="chat completions, tracing off",
    ),
    System(
        name="langgraph",
        environment="langgraph",
        runner="langgraph",
        distribution="langgraph",
        imports="from langchain.agents import create_agent; from langchain_openai import ChatOpenAI",
        note="create_agent with ProviderStrategy",
    ),
)
BY_NAME = {system.name: system for system in ALL}
