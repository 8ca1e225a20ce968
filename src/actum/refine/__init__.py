"""Refining: what a model did, in several recorded runs, becomes a plan that needs no model, and is proved by replay.

`refine(runs, idea=…)` gives a `Refined`: the plan, where each of its values comes from, what is open, and the proof.
`Agent(…, plans=Plans("plans.db"))` does so behind its runs, and answers by what was proved.
"""

from .refining import Proof, Question, Refined, refine
from .shelf import Plans, ShelvedPlan

__all__ = ["Plans", "Proof", "Question", "Refined", "ShelvedPlan", "refine"]
