"""Real model servers with known answers: script/test models."""
