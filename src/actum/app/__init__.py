"""The composition root: `Agent` and `Tools` put the layers together."""
