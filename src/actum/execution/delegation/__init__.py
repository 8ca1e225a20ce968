"""Calls in isolation: what a `_delegate` leads to, and the run that carries the call out (D1-D16)."""
