"""Whether what an element expects holds, and what is told where it doesn't (C16, E6)."""

from __future__ import annotations

from typing import Any

from ...dataflow.computing.text import Computed
from ...dataflow.expression import MISSING, references
from ...dataflow.graph import Graph
from ...dataflow.reference import Reference, clip
from ...errors import InvalidParameters, NotAsExpected
from ...protocol.call import EXPECT
from ...schema.json import encode
from ...schema.quoting import told
from ..job import Job


def check_expected(job: Job, value: Any, graph: Graph) -> None:
    """Judge what an element expects, once its value is known.

    Raises:
        NotAsExpected: it is false, or the value doesn't have the shape; or what it reads was skipped.
        InvalidParameters: it is neither true nor false.
    """
    answer = job.node.answer
    direct = (one for one in job.template.expressions if isinstance(one, Computed | Reference))
    if any(answer.has_skipped(reference) for one in direct for reference in references(one)):
        raise NotAsExpected(f"{expected(job)} doesn't hold: what it reads was skipped")
    if job.shape is not None:
        complaint = job.shape.complaint(value, quotes=False)
        if complaint is not None:
            raise NotAsExpected(f"{expected(job)} doesn't hold: {complaint}")
    elif not isinstance(value, bool):
        why = f"a condition comes to true or false, and this one is {told(value)}: compare it with something"
        raise InvalidParameters(why, path=EXPECT)
    elif not value:
        kinds = "; ".join(_kinds(job, graph))
        raise NotAsExpected(f"{expected(job)} doesn't hold{f': {kinds}' if kinds else ''}")


def expected(job: Job) -> str:
    """What is expected, as it was authored."""
    said = job.call[EXPECT]
    return clip(said if isinstance(said, str) else encode(said))


def _kinds(job: Job, graph: Graph) -> list[str]:
    """What each reference of it has read, by kind and size."""
    read = dict.fromkeys(one for each in job.template.expressions for one in references(each))
    values = {one: graph.known.evaluate(one, job.node.answer, job.node.instance) for one in read}
    return [f"{one} is {told(value)}" for one, value in values.items() if value is not MISSING]
