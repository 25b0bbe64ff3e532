"""The table of the programs: what they are, where they are installed, and which of their features are known to fail."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One program at one door."""

    name: str
    door: str
    distributions: tuple[str, ...]
    """The packages whose versions the table has."""
    environment: str
    """The name of its file in Tests/Runner/requirements."""
    module: str
    """Its module and class in `programs`; without it the program cannot run, and `faults` says why."""
    faults: dict[str, str] = field(default_factory=dict)
    """Why a feature fails, by its name or by its mode and its name, `keys cancel`. Everything else must work."""
    lacks: str = ""
    """What the program has and this table does not try, with the reason."""
    is_exact: bool = True
    """Whether the program sends the prompt as it is, and returns the answer as it is. Programs that are commands write more around them."""
    is_short: bool = False
    """Whether the short form runs it."""

    def fault(self, mode: str, feature: str) -> str:
        """Why a feature is known to fail in a mode; an empty text if it must work."""
        return self.faults.get(f"{mode} {feature}") or self.faults.get(feature, "")


ENTRIES = [
    Entry("OpenAI's package, chat completions", "OpenAI", ("openai",), "clients", "openai_package:Chat", is_short=True),
    Entry("OpenAI's package, responses", "Responses", ("openai",), "clients", "openai_package:Responses", is_short=True),
    Entry("Anthropic's package", "Anthropic", ("anthropic",), "clients", "anthropic_package:Messages", is_short=True),
    Entry("Ollama's package", "Ollama", ("ollama",), "clients", "ollama_package:Ollama", is_short=True),
]
