"""The use of a model by an agent."""

from typing import cast

import msgspec


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Complete answers, and the tokens of their requests by the endpoint's count; 0 without a count."""

    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: "ModelUsage") -> "ModelUsage":
        return ModelUsage(
            answers=self.answers + other.answers,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


def usage_of(said: object) -> ModelUsage:
    """The usage of an answer, from the endpoint's report. Anything but a count is left out."""
    found = cast("dict[str, object]", said) if isinstance(said, dict) else {}
    prompt, completion = found.get("prompt_tokens"), found.get("completion_tokens")
    return ModelUsage(answers=1, prompt_tokens=_count(prompt), completion_tokens=_count(completion))


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value < 2**53 else 0
