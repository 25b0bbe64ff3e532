"""The terminal client in pseudo-terminals and in pipes: script/test terminal."""
