"""The queue in front of a model server with one slot: script/test fairness."""
