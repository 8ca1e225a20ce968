"""One file for each system, run as a process in the system's own environment: `python -m bench.runners.NAME`."""
