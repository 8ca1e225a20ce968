"""The † language: references, expressions, the fold of a log, and the graph of who waits for whom. Pure."""
