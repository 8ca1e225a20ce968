"""What of a call came out of data, and what of that through a reader or an expression (S10)."""

from __future__ import annotations

from ...dataflow.computing.text import Computed
from ...dataflow.expression import Expression, references
from ...dataflow.graph import CALLS, RESULTS, call_index
from ...dataflow.reference import Path, Reference, print_path
from ...errors import InvalidParameters
from ...protocol.call import DERIVED, WHEN
from ...protocol.reader import Reader
from ...protocol.scopes import scope_path
from ..record.brought import Source
from ..record.journal import Journal
from .job import ERROR, ITEM, Job
from .register import Register


class Lineage:
    """Knows for each call of a run which of its parameters came out of data; looks at what a call refers to once."""

    def __init__(self, register: Register, journal: Journal) -> None:
        self._register = register
        self._journal = journal

    def note(self, job: Job) -> None:
        """Note what of a call that is about to be made was derived.

        Raises:
            InvalidParameters: its tool refuses such values for a parameter.
        """
        found = list(self._derived(job))
        job.derived = tuple(dict.fromkeys(print_path(path).lstrip(".") for path in found))
        job.is_value_brought = job.is_value and bool(self.brought(job))
        job.is_result_derived = bool(found) if job.is_value else self._is_made_by_a_model_of_data(job)
        for path in found:
            if path and path[0] in job.tool.underivable:
                raise InvalidParameters(
                    "it takes no value that a reader or an expression has made of data: refer to the value itself, "
                    "or write it out",
                    tool=job.tool.name,
                    path=print_path(path).lstrip("."),
                )

    def note_condition(self, job: Job) -> None:
        """Note of a call that is skipped whether its condition was derived; what else it reads may not be there."""
        job.derived = tuple(dict.fromkeys(str(path[0]) for path in self._derived(job) if path == (WHEN,)))

    def note_instead(self, job: Job) -> None:
        """Note whether what stands for a call that has failed was derived: its `_else`, or what it computes (C14)."""
        head = job.head
        own = () if head.otherwise is None else head.otherwise.template.expressions
        read = own if not job.is_value else (*own, *(one for one, _ in head.authored))
        if any(self._is_derived(one, head) for one in read):
            job.is_result_derived = head.is_result_derived = True
        if job.is_value and any(self._is_brought(one, head) for one in read):
            job.is_value_brought = head.is_value_brought = True

    def brought(self, job: Job) -> frozenset[str]:
        """The parameters of a call that hold what calls have brought."""
        own = job.parent or job
        return frozenset(str(path[0]) for one, path in own.authored if self._is_brought(one, own))

    def _is_made_by_a_model_of_data(self, job: Job) -> bool:
        """Whether a call's result is what a model in isolation, such as the reader, says of data."""
        if isinstance(job.tool, Reader):
            return True
        if not job.tool.is_delegated:
            return False
        is_handed_any = any(scope_path(scope).kind in self._journal.brought.kinds for scope in job.scopes)
        return is_handed_any or bool(self.brought(job))

    def _is_brought(self, expression: Expression, job: Job) -> bool:
        return any(self._source(one, job).is_brought for one in references(expression))

    def _derived(self, job: Job) -> list[Path]:
        """The places in a call whose expressions were derived."""
        return [path for one, path in job.authored if self._is_derived(one, job)]

    def _is_derived(self, expression: Expression, job: Job) -> bool:
        sources = [self._source(one, job) for one in references(expression)]
        is_worked_out = isinstance(expression, Computed) and not expression.only_refers
        return any(one.is_derived or (is_worked_out and one.is_brought) for one in sources)

    def _source(self, reference: Reference, job: Job) -> Source:
        if reference.kind == ITEM:
            return self._of_items(job)
        if reference == ERROR:
            return Source(is_brought=True)
        if reference.kind == CALLS:
            return self._of_call(call_index(reference), job)
        if reference.kind == RESULTS:
            number = call_index(reference)
            message = self._journal.results.get(-1 if number is None else number, {})
            return Source(True, "" in message.get(DERIVED, ()))
        return self._journal.brought.source(reference)

    def _of_items(self, job: Job) -> Source:
        if job.batch is None:
            return Source()
        own = job.batch.items.expressions
        is_brought = any(self._is_brought(one, job) for one in own)
        return Source(is_brought, any(self._is_derived(one, job) for one in own))

    def _of_call(self, index: int | None, job: Job) -> Source:
        node = None if index is None else job.script.nodes.get(index)
        target = None if node is None else self._register.jobs.get(node.number)
        if target is None:  # it was made before this run
            return Source(True, index is not None and str(job.script.place(index)) in self._journal.brought.places)
        is_brought = target.is_value_brought if target.is_value else not target.is_latent
        return Source(is_brought, target.is_result_derived)
