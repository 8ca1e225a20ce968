"""Actum and its peers, measured side by side on one scripted server. `python -m bench.run` is the way in."""
