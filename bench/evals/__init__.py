"""One suite of a desk, written for Actum, pydantic-evals and Inspect, and what each needs for it."""
