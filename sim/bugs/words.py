"""Defects of words: what people say or agents answer arrives as something else, or in part."""

from typing import Any

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import GatewayConfig, HandsConfig
from trunkline.core.delivery.answers import AnswerFacts, decide_answer
from trunkline.core.gateway import Gateway
from trunkline.core.hands.completion_plan import CompletionPlan, HandCompletion, plan_completion
from trunkline.core.profile_rules import ProfileRules
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.text.model_text import ModelText, read_model_text
from trunkline.core.values import Envelope, IntentKind, Receipt, SendRequest
from trunkline.sim.bugs.base import bug, configured, deciding, making
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, HearingWrapper, wrapping


@bug("words-lost-on-the-way-in", wrapping, caught_by=("T1",))
class _LosesWords(HearingWrapper):
    """Of a message of several lines the gateway hears the first."""

    async def hear(self, envelope: Envelope) -> Envelope:
        return msgspec.structs.replace(envelope, text=envelope.text.partition("\n")[0])


@bug("answers-lose-their-last-word", deciding("read_answer"), caught_by=("T2",))
def _without_last_word(text: str, by: ProfileRules) -> ModelText:
    """Each answer loses its last word, if it has several."""
    answer = read_model_text(text, by)
    words = answer.text.rstrip().rpartition(" ")
    return msgspec.structs.replace(answer, text=words[0] or answer.text)


@bug("thoughts-beside-no-reply", deciding("decide_answer"), caught_by=("T2",))
def _token_alone(facts: AnswerFacts) -> Reason | None:
    """Only an answer that is the token and nothing else is silent; what stands beside the token is published."""
    answer = facts.answer or ""
    if answer.strip() == "NO_REPLY" or not answer.strip():
        return decide_answer(facts)
    return decide_answer(msgspec.structs.replace(facts, answer=answer.replace("NO_REPLY", "")))


class _Prepares(Gateway):
    """A gateway that prepares messages in another way."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        prepare = self._preparer.prepare

        async def prepare_otherwise(draft: IntentRow, text: str, *more: Any, **named: Any) -> IntentRow:
            return self.prepared(await prepare(draft, self.text(draft, text), *more, **named))

        self._preparer.prepare = prepare_otherwise

    def text(self, _draft: IntentRow, text: str) -> str:
        """The text that is prepared."""
        return text

    def prepared(self, row: IntentRow) -> IntentRow:
        """The message as it is stored and sent."""
        return row


@bug("last-part-is-lost", making("gateway"), caught_by=("T2",))
class _LosesTheLastPart(_Prepares):
    """A text that is too long for one message is prepared without its last part."""

    def prepared(self, row: IntentRow) -> IntentRow:
        """The message without its last part."""
        content = row.content
        if len(content.chunks) < 2:
            return row
        content = msgspec.structs.replace(content, chunks=content.chunks[:-1], forms=content.forms[:-1])
        return msgspec.structs.replace(row, content=content)


@bug("limit-of-the-platform-only", configured, caught_by=("T2",))
def _unlimited(config: GatewayConfig) -> dict[str, Any]:
    """The configured length of texts is ignored: they are as long as the platform allows."""
    unlimited, channels = {"text_limit": None}, dict[str, Any]()
    for name, channel in config.channels.items():
        accounts = {own: account.model_copy(update=unlimited) for own, account in channel.accounts.items()}
        channels[name] = channel.model_copy(update={**unlimited, "accounts": accounts})
    return {"channels": channels}


@bug("edits-lose-their-last-word", wrapping, caught_by=("T2",))
class _CutsEdits(AdapterWrapper):
    """The new text of an edited message is shown without its last word."""

    async def act(self, request: ActionRequest) -> Receipt:
        """Carry out, with less of the text."""
        text = request.text.rpartition(" ")[0] if request.action is Action.EDIT else ""
        return await super().act(msgspec.structs.replace(request, text=text, html=None) if text else request)


@bug("html-of-the-first", wrapping, caught_by=("T2",))
class _ShowsTheFirst(AdapterWrapper):
    """The HTML of an account's first message is kept and shown for each later one, whatever its text is."""

    def __init__(self, inner: ChannelAdapter) -> None:
        super().__init__(inner)
        self._html: str | None = None

    async def send(self, request: SendRequest) -> Receipt:
        """Send with the HTML of the first message."""
        self._html = self._html or request.html
        return await self.inner.send(msgspec.structs.replace(request, html=self._html))


@bug("closed-is-open", deciding("plan_completion"), caught_by=("T3",))
def _falls_back(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """The result of bound work goes back to the requester, with a recorded fallback, whatever is configured."""
    return plan_completion(msgspec.structs.replace(done, may_fall_back=True), config)


@bug("notice-has-the-result", caught_by=("T3",))
def _install_telling_notices(wiring: Wiring) -> None:
    """The notice that a result is withheld quotes the result."""
    results: dict[str | None, str] = {}

    def plan_and_note(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
        results[done.delegation] = done.result.text
        return plan_completion(done, config)

    class Telling(_Prepares):
        def text(self, draft: IntentRow, text: str) -> str:
            """The text of a notice, with the result."""
            return f"{text} {results.get(draft.delegation, '')}" if draft.kind is IntentKind.NOTICE else text

    wiring.replace(plan_completion=plan_and_note)
    wiring.make_gateway = Telling
