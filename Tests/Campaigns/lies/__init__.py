"""Servers that lie, and servers that only serve in a way of their own."""
