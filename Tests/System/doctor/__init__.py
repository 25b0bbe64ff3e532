"""Faults of every kind, planted for `chatterd doctor`: script/test doctor."""
