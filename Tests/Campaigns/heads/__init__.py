"""Heads in and out of the grammar, read by the service, by libcurl and by other readers."""
