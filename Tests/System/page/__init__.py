"""The web page in a real browser: script/test-page, script/screenshots and script/bench-page."""
