"""Refining: what a model did, in several recorded runs, becomes a plan that needs no model, and is proved by replay.

`refine(runs, idea=…)` gives a `Refined`: the plan, where each of its values comes from, what is open, and the proof.
"""

from .refining import Question, Refined, refine

__all__ = ["Question", "Refined", "refine"]
