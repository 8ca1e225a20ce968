"""Live events of runs, which no record holds: workers send them over a channel to those who follow a run."""
