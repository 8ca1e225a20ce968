"""Adapters of the port of a store: SQLite, PostgreSQL, a folder of files."""
