"""DSPy: predictions, and its agent."""

from __future__ import annotations

import dspy

from compatibility.program import MODEL, TIMEOUT, City, Program


class OpenAI(Program):
    """Chat completions, through LiteLLM. It writes its signatures around each prompt."""

    error = ("litellm.exceptions.NotFoundError",)

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

    def structured(self, prompt):
        class Describe(dspy.Signature):
            """Describe a city."""

            order: str = dspy.InputField()
            city: City = dspy.OutputField()

        with dspy.context(lm=self.lm(), adapter=dspy.JSONAdapter()):
            return dspy.Predict(Describe)(order=prompt).city

    def embed(self, texts):
        return dspy.Embedder(f"openai/{MODEL}", api_base=self.v1, api_key=self.key, caching=False, encoding_format="float")(texts)
