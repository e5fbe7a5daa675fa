"""What an agent has used of its model."""

from __future__ import annotations

from typing import cast

import msgspec


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Complete answers, and the tokens of their requests as the endpoint counts them; 0 if it does not say."""

    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: ModelUsage) -> ModelUsage:
        """The sum."""
        return ModelUsage(
            answers=self.answers + other.answers,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


def usage_of(said: object) -> ModelUsage:
    """The usage of one answer, from what the endpoint says of it. Whatever is no count is left out."""
    found = cast("dict[str, object]", said) if isinstance(said, dict) else {}
    prompt, completion = found.get("prompt_tokens"), found.get("completion_tokens")
    return ModelUsage(answers=1, prompt_tokens=_count(prompt), completion_tokens=_count(completion))


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value < 2**53 else 0
