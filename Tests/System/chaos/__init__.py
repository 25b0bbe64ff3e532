"""Processes, PostgreSQL and connections that fail while clients talk: script/test chaos."""
