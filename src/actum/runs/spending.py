"""What a run that is owned comes to: what it has spent, and who has carried its calls out, whoever had it (L5, X0)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..app.kept_run import SPENT, budget_of
from ..app.stream import Stream
from ..execution.budget import Budget
from ..ideas.course import Sums
from ..protocol.config import Limits
from ..schema.json import JsonObject
from .row import Row, Submission, Taken
from .sending import ANEW


@dataclass(slots=True)
class Spending:
    """What a run comes to beside its context, from where its record ends."""

    sums: Sums
    known: JsonObject
    """What else is known of it."""
    budget: Budget | None = None

    @classmethod
    def of(cls, row: Row, taken: Taken) -> Spending:
        """What is known of a run that was claimed; of what its limits count, nothing if they begin anew."""
        sums, known = Sums.of(row.about, taken.entries), dict(row.about)
        if ANEW not in taken.sent:
            return cls(sums, known)
        known.pop(SPENT, None)
        return cls(sums.anew(), known)

    def begin(self, limits: Limits, source: Submission) -> Budget:
        """What the run may spend, less what it had spent.

        Calls and bytes count from when it last waited: what was under way when its worker was lost is made again.
        """
        own = Limits(**source.child["limits"]) if source.child is not None else limits
        self.budget = budget_of(own, self.known, self.sums)
        return self.budget

    def take(self, stream: Stream) -> bool:
        """Take in how far the run is; whether it comes to more than was known."""
        assert self.budget is not None
        before, self.sums = self.sums, self.sums.so_far(self.budget.usage, stream.makers)
        return self.sums is not before

    @property
    def about(self) -> JsonObject:
        """What is to be known of it when it ends, for now or for good."""
        spent: JsonObject = {} if self.budget is None else {SPENT: asdict(self.budget.spent)}
        return {**self.known, **self.sums.to_dict(), **spent}
