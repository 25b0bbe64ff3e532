"""Clients as people use them: script/test clients."""
