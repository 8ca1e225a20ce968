"""The calls of a run: taken in, started when they are ready, carried out, written down."""
