"""pydantic-ai-harness's code mode: the model writes one program over the tools; `eager` runs it while it arrives.

https://github.com/pydantic/pydantic-ai-harness: Code Mode, Eager execution. Eager execution needs a streamed answer.
"""

from __future__ import annotations

from pydantic_ai_harness import CodeMode

from .pydantic_ai import prepared
from .timing import Run, Task, main


def prepare(task: Task) -> Run:
    """Make an agent whose tools are called from code."""
    eager = task.variant == "eager"
    return prepared(task, [CodeMode(eager=eager)], streams=eager)


if __name__ == "__main__":
    main(prepare, "pydantic-ai-harness")
