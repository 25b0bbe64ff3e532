"""Clients that try to exhaust the memory: script/attacks."""
