"""The saved Request as a file: reading, writing, and what stands in it (X1)."""
