"""One request becomes one solution: the model port, compiling, the stream of an answer, asking again."""
