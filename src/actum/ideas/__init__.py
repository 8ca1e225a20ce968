"""The saved Request as a file: reading, writing, and what is in it (X1)."""
