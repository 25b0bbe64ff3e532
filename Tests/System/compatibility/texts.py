"""The names of the features, and the texts of the prompts and answers, which the programs and the model server share."""

import base64

FEATURES = ("two turns", "stream", "tools", "error", "cancel", "unicode", "image", "structured output", "embeddings", "models")
MODEL, UNKNOWN = "m", "missing-model"
TIMEOUT = 300.0
"""Seconds that one feature of one program may need: far more than it does on the busiest machine."""

FIRST, SECOND, OTHER = "My name is Ada.", "What is my name?", "My name is Bob."
ANSWERS = ["Hello, the first.", "Hello, the second.", "Hello, the third."]
STREAM = "Count to five."
PIECES = ["One, ", "two, ", "three, ", "four, ", "five."]
FOREVER, BEGUN = "Count forever.", "One"
UNICODE = "Grüße 🐣 日本語 naïve \"quoted\" Ελλάδα 👩‍👩‍👧 \\u0041 e\u0301"
WEATHER, ARGUMENTS, RESULT, RAIN = "How is the weather?", {"city": "Ålesund", "days": 2}, "2 days of rain in Ålesund ☔", "It rains."
CITY, PLACE = "Describe a city.", {"name": "Ålesund", "people": 67_114}
PICTURE, SEEN = "What is in the picture?", "A point."
IMAGE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP47yAAAAORAVClUL+qAAAAAElFTkSuQmCC")
"""A PNG with one pixel, without transparency, which some programs remove."""
INPUTS = ["one", "zwei ✓"]
VECTORS = {"one": [1.0, -0.5, 0.25], "zwei ✓": [0.5, 0.75, -1.0]}
