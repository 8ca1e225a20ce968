"""The calls of a run that are open, by number: taken in, and dropped once they are settled."""

from __future__ import annotations

from ...dataflow.graph import Answer, Graph, Node
from ...generation.offer import Toolset
from ..record.journal import Journal
from .job import Job


class Register:
    """Every call has a number, in the order in which calls are taken in: what is listed before has a lower one."""

    def __init__(self, journal: Journal, toolset: Toolset) -> None:
        self.toolset = toolset
        self.graph = Graph(journal.read)
        self.jobs: dict[int, Job] = {}
        self.nodes: list[Node] = []
        """Those that may still matter to a call that waits."""
        self.gates: dict[str, None] = {}
        """What the calls that are held wait for, in order (C7, L6)."""
        self.failed: list[Job] = []
        """The calls that were to write something and have failed, since the last tick (S8)."""
        self._numbers = 0

    def node(self, answer: Answer, index: int) -> Node:
        """The node of the next call."""
        self._numbers += 1
        node = Node(self._numbers - 1, answer, index)
        self.nodes.append(node)
        return node
