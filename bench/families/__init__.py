"""The families of a stream of public tasks, by what they are taken from."""
