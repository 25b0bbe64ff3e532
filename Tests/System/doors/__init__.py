"""Clients of Ollama, OpenAI and Anthropic at the front doors: script/test doors."""
