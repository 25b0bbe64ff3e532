"""The web page in a real browser: script/test page, script/test screenshots and script/bench page."""
