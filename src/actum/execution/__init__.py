"""The loop: calls are started when ready, carried out, written, and the model is asked again."""
