"""Servers that lie, and honest servers that behave unusually."""
