"""Opening what an Idea names: files and modules. The only place that does."""
