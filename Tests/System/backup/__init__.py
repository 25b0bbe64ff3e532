"""Backups of a running chatterd, and what a restored one has: script/test backup."""
