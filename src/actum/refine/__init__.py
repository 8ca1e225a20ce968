"""Refining: what a model did, in several recorded runs, becomes a plan that needs no model, and is proved by replay.

`refine(runs, idea=…)` gives a `Refined`: the plan, where each of its values comes from, what is open, and the proof.
`Agent(…, plans=Plans("plans.db"))` does so behind its runs, and answers by what was proved. `as_python` writes a plan
as a typed function, which may use `expect`, `functions` and `text`.
"""

from .coding import expect, functions, text
from .examples import never
from .learning import Plans
from .plan_file import ShelvedPlan
from .proving import Proof
from .python_proof import PythonCode, as_python, prove_function
from .refining import OpenQuestion, Refined, prove, refine

__all__ = [
    "OpenQuestion",
    "Plans",
    "Proof",
    "PythonCode",
    "Refined",
    "ShelvedPlan",
    "as_python",
    "expect",
    "functions",
    "never",
    "prove",
    "prove_function",
    "refine",
    "text",
]
