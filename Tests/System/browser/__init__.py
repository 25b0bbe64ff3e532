"""EventSource and web pages of other origins in a real browser: script/test browser."""
