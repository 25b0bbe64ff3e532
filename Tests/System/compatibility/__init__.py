"""Programs that speak to Ollama, OpenAI or Anthropic, unmodified, in front of chatterd: what of each works, as a table."""
