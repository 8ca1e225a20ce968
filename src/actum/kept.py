"""Runs that are kept in files: started, listed, resumed, forked, decided on and replayed (L6, L8, X5).

A kept run is an Idea file whose context holds what the run has left, and a log beside it (`FILE.log`) for what is newer
than the file; a process that was killed loses nothing that was logged. While one process has a run open, others are
refused with an `IdeaError`. A `run` is named by the path of its file.
"""

from .app.kept import *  # noqa: F403 -- its public name
from .app.kept import __all__  # noqa: F401
