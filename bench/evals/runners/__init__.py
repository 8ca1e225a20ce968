"""Each system in an environment of its own: `python -m bench.evals.runners.NAME` prints what it needed."""
