"""What a run knows of itself: its context, what it tells a log, and what a context says of the plans in it."""
