"""The system prompts of a turn that is about to start."""

from __future__ import annotations

from trunkline.core.errors import TrunklineError
from trunkline.core.prompts import Prompt, PromptQuestion, check_prompts
from trunkline.core.records.rows import Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.well_formed import describe


class UnusablePrompts(TrunklineError):
    """The system prompts of a turn cannot be composed."""


def prompts_of(work: Work, context: Context) -> tuple[Prompt, ...]:
    """Compose the prompts of a turn from the configuration of this moment. Raises `UnusablePrompts`."""
    question = PromptQuestion(agent=work.agent, reply_to=work.reply_to, callback=work.callback is not None)
    try:
        # The decision may be user code.
        with UserCode():
            prompts: object = context.decisions.compose_prompts(question, context.config)
    except Exception as error:
        raise UnusablePrompts(describe(error)) from error
    wrong = check_prompts(prompts)
    if wrong:
        raise UnusablePrompts(wrong)
    assert isinstance(prompts, tuple)
    return prompts
