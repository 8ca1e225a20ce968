"""`actum schema`: the published format of Ideas."""

from __future__ import annotations

from typing import Literal

from ...ideas.published import idea_schema
from ..render.terminal import say_json


def actum_schema(of: Literal["idea"] = "idea", /) -> None:
    """Print the JSON Schema of the Idea format, by which an editor completes and checks Ideas.

    Parameters
    ----------
    of
        The format: idea.
    """
    say_json({"idea": idea_schema}[of](), 2)
