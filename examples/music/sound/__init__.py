"""Sound as arrays of floats: oscillators, envelopes, filters, effects, and what makes a patch audible."""
