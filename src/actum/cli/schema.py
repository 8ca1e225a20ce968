"""`actum schema`: the published format of Ideas."""

from __future__ import annotations

import json
from typing import Literal

from ..ideas.published import idea_schema


def schema(of: Literal["idea"] = "idea", /) -> int:
    """Print the JSON Schema of a format: an editor completes and checks Ideas by it.

    Parameters
    ----------
    of
        What is asked for: the format of an Idea.
    """
    print(json.dumps({"idea": idea_schema}[of](), ensure_ascii=False, indent=2))
    return 0
