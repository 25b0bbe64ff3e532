"""A client whose prompts make the model call tools of the server."""

from __future__ import annotations

from dataclasses import replace

from chaos.client import Client
from chaos.run_state import Prompt


class ToolClient(Client):
    """One conversation at `/llmtools`, and now and then at `/llmchat`, where the model reads the earlier steps."""

    def _draw(self, order: int, is_endless: bool) -> Prompt:
        prompt = super()._draw(order, is_endless)
        if is_endless or self._chance.random() < 0.2:
            return prompt
        # Without a word of its client such a reply is taken over.
        prompt.path, prompt.may_repeat = "/llmtools", self._chance.random() < 0.75
        prompt.script = replace(prompt.script, rounds=self._chance.randint(1, 3), calls=0)
        self._record.count["prompts with tools"] += 1
        return prompt
