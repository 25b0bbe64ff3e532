"""DSPy: its models, and predictions."""

from __future__ import annotations

import base64

import dspy

from compatibility.program import MODEL, TIMEOUT, Program


class OpenAI(Program):
    """Chat completions, through LiteLLM. Its predictions write their own prompts, so chats use the model."""

    error = ("dspy.utils.exceptions.LMUnsupportedModelError",)

    def lm(self, model=MODEL):
        return dspy.LM(f"openai/{model}", api_base=self.v1, api_key=self.key, timeout=TIMEOUT, num_retries=0, cache=False)

    def chat(self, model=MODEL):
        lm, messages = self.lm(model), []

        def ask(prompt):
            messages.append({"role": "user", "content": prompt})
            [answer] = lm(messages=messages)
            answer = answer if isinstance(answer, str) else answer["text"]
            messages.append({"role": "assistant", "content": answer})
            return answer

        return ask

    def image(self, prompt, png):
        url = "data:image/png;base64," + base64.b64encode(png).decode()
        parts = [{"type": "text", "text": prompt}, {"type": "image_url", "image_url": {"url": url}}]
        [answer] = self.lm()(messages=[{"role": "user", "content": parts}])
        return answer if isinstance(answer, str) else answer["text"]

    def structured(self, prompt):
        class Describe(dspy.Signature):
            """Describe a city."""

            order: str = dspy.InputField()
            name: str = dspy.OutputField()
            people: int = dspy.OutputField()

        with dspy.context(lm=self.lm(), adapter=dspy.JSONAdapter()):
            return dict(dspy.Predict(Describe)(order=prompt).items())

    def embed(self, texts):
        return dspy.Embedder(f"openai/{MODEL}", api_base=self.v1, api_key=self.key, caching=False, encoding_format="float")(texts)
