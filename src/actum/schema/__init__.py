"""JSON Schema as a value: validate, infer, compose, lower to a dialect of a provider. Pure."""
