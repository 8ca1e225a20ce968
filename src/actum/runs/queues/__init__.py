"""Adapters of the queue port."""
