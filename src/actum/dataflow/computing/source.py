"""Stand-in."""
class ComputingSyntax(ValueError):
    pass
