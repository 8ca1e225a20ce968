"""`actum schema`: the published format of Ideas."""

from __future__ import annotations

import json
from typing import Literal

from ...ideas.published import idea_schema


def schema(of: Literal["idea"] = "idea", /) -> int:
    """Print the JSON Schema of the Idea format, by which an editor completes and checks Ideas.

    Parameters
    ----------
    of
        The format: idea.
    """
    print(json.dumps({"idea": idea_schema}[of](), ensure_ascii=False, indent=2))
    return 0
