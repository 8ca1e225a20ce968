"""Refining: what a model did, in several recorded runs, becomes a plan that needs no model, and is proved by replay.

`refine(runs, idea=…)` gives a `Refined`: the plan, where each of its values comes from, what is open, and the proof.
`Agent(…, plans=Plans("plans.db"))` does so behind its runs, and answers by what was proved.
"""

from .examples import never
from .learning import Plans, ShelvedPlan
from .refining import OpenQuestion, Proof, Refined, prove, refine

__all__ = ["OpenQuestion", "Plans", "Proof", "Refined", "ShelvedPlan", "never", "prove", "refine"]
