"""Clients that try to exhaust the memory: script/test attacks."""
