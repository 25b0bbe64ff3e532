"""The parts that the system tests share: README.md has a list."""
