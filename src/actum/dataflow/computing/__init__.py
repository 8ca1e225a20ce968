"""Computed values: Python's expressions over references, read, bounded and evaluated (E1-E4, E6)."""
