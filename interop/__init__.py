"""Actum tried with parts that nobody here wrote (`make interop`)."""
