"""The wires: each turns a request into a provider's bytes and the answer's bytes back, and each is one file."""
