"""Measuring and comparing texts with nothing but the standard library; knows nothing of agents."""
