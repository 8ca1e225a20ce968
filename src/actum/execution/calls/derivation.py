"""What of a call came out of data, and what of that through a reader or an expression (S10).

It is told of the values that the call is made with, never of others that may have been there.
"""

from __future__ import annotations

from typing import Any

from ...dataflow.computing.text import Computed
from ...dataflow.expression import MISSING, Expression, evaluate, references
from ...dataflow.fold import Fold
from ...dataflow.node import Node, Status
from ...dataflow.reference import CALLS, Path, Reference, call_index, print_path
from ...errors import InvalidParameters
from ...protocol.call import DERIVED, VALUE, WHEN
from ...protocol.lineage import AUTHORED, NONE, WHOLE, Marks, Source, at, join_sources, source_of
from ...protocol.reader import Reader
from ...protocol.tool import Tool
from ...schema.json import is_object
from ...schema.walk import properties_of
from ..ground import Ground
from ..job import ERROR, ITEM, Job

_OUTPUT = "_output"
_READ: Marks = {(): Source(is_brought=True, is_derived=True)}


class Lineage:
    """Knows for each call of a run which of its parameters came out of data; looks at what a call refers to once."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def note(self, job: Job) -> None:
        """Note where the values of a call come from that is about to be made.

        Raises:
            InvalidParameters: its tool takes none for a parameter that a reader or an expression has made of data.
        """
        found = [(path, self._source(one, job)) for one, path in job.authored]
        job.sources = {path: source for path, source in found if source.is_brought}
        derived = [path for path, source in found if source.is_derived]
        job.derived = tuple(dict.fromkeys(print_path(path).lstrip(".") for path in derived))
        job.came = self._came(job)
        for path in derived:
            if path and _refuses_derived(job.tool, path[0]):
                raise InvalidParameters(
                    "it takes no value that a reader or an expression has made of data: refer to the value itself, "
                    "or write it out",
                    tool=job.tool.name,
                    path=print_path(path).lstrip("."),
                )

    def note_condition(self, job: Job) -> None:
        """Note of a call that is skipped whether its condition was derived; what else it reads may not be there."""
        conditions = [one for one, path in job.authored if path == (WHEN,)]
        job.derived = (WHEN,) if any(self._source(one, job).is_derived for one in conditions) else ()

    def note_instead(self, job: Job) -> None:
        """Note where what stands for a call comes from that has failed: its `_else` (C14)."""
        head = job.head
        assert head.otherwise is not None  # nothing else stands for it
        template = head.otherwise.template
        found = {path: self._source(one, head) for one, path in zip(template.expressions, template.paths, strict=True)}
        job.came = {path: source for path, source in found.items() if source.is_brought}
        if head is not job:
            head.came = {(): join_sources([source_of(came(head)), *job.came.values()])}

    @staticmethod
    def _came(job: Job) -> Marks | None:
        """Where the result of a call comes from; None where that is told by who carries it out."""
        if isinstance(job.tool, Reader):
            return _READ
        if job.tool.is_delegated:
            return marks_of_delegate(job, is_handed_data=False)
        if not (job.is_value or job.is_latent):
            return None
        own = VALUE if job.is_value else _OUTPUT
        parts = {path[1:]: source for path, source in job.sources.items() if path[:1] == (own,)}
        if job.batch is None or not parts:
            return parts
        return {(): join_sources(parts.values())}

    def _source(self, expression: Expression, job: Job) -> Source:
        """Where the value comes from that an expression has: of alternatives, the one that is taken (O5)."""
        if isinstance(expression, Computed):
            read = join_sources(
                source_of(self._marks(one, job)) for one in references(expression) if self._is_there(one, job)
            )
            return Source(read.is_brought, read.is_derived or (read.is_brought and not expression.only_refers))
        found: Any = evaluate(expression, lambda one: self._marks(one, job) if self._is_there(one, job) else MISSING)
        return AUTHORED if found is MISSING else source_of(found)

    def _is_there(self, reference: Reference, job: Job) -> bool:
        if reference.kind == ITEM or reference == ERROR:
            return True
        if reference.kind != CALLS:
            return self._ground.journal.read(reference, job.node.instance) is not MISSING
        node = self._node(reference, job)
        if node is None or node.status is not Status.DONE:
            return False
        return Fold(node.value).read(reference.path[1:]) is not MISSING

    def _marks(self, reference: Reference, job: Job) -> Marks:
        if reference.kind == ITEM:
            return self._of_items(job)
        if reference == ERROR:
            return WHOLE
        if reference.kind == CALLS:
            return self._of_call(reference, job)
        return self._ground.journal.marks(reference, job.node.instance)

    def _of_items(self, job: Job) -> Marks:
        if job.batch is None:
            return NONE
        whole = join_sources(self._source(one, job) for one in job.batch.items.expressions)
        return {(): whole} if whole.is_brought else NONE

    def _node(self, reference: Reference, job: Job) -> Node | None:
        index = call_index(reference)
        return None if index is None else job.script.nodes.get(index)

    def _of_call(self, reference: Reference, job: Job) -> Marks:
        node, path = self._node(reference, job), reference.path[1:]
        target = None if node is None else self._ground.jobs.get(node.number)
        if target is not None:
            return at(came(target), path)
        index = call_index(reference)  # else it was made before this run
        return WHOLE if index is None else self._ground.journal.brought.of(str(job.script.place(index)), path)


def came(job: Job) -> Marks:
    """Where the result of a call comes from: what the model has written out itself, no call has brought."""
    if job.came is not None:
        return job.came
    return NONE if job.is_latent else WHOLE


def marks_of_delegate(job: Job, *, is_handed_data: bool) -> Marks:
    """Where the result of a delegate comes from: of data that it was handed, a model in isolation has made it."""
    own = job.head
    is_of_data = is_handed_data or isinstance(job.tool, Reader) or any(_is_parameter(path) for path in own.sources)
    return _READ if is_of_data else WHOLE


def parameters(job: Job) -> Marks:
    """What of the parameters of a call came out of data, as they cross into its delegate."""
    own = job.head.sources
    return {path: source for path, source in own.items() if _is_parameter(path)}


def _refuses_derived(tool: Tool, parameter: str | int) -> bool:
    """Whether a tool takes nothing for a parameter that a reader or an expression has made of data."""
    own = properties_of(tool.schema).get(str(parameter))
    return is_object(own) and own.get(DERIVED) is False


def _is_parameter(path: Path) -> bool:
    return bool(path) and not str(path[0]).startswith("_")
