"""One file for each command: it parses, calls what does the work, and renders."""
