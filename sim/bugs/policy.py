"""Defects in the cross-context policy: crossings that nobody decides on, missing marks, denials that do not hold."""

from typing import Any

import msgspec

from trunkline.core.actions.catalogue import SPECS
from trunkline.core.actions.result import ActionResult
from trunkline.core.actions.spec import ActionKind
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import PolicyDenied
from trunkline.core.message_tool.policy import ContextDecision, ContextQuestion, decide_context
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind
from trunkline.sim.bugs.base import bug, deciding
from trunkline.sim.bugs.turn_wrappers import TurnWrapper, each_turn
from trunkline.sim.bugs.wiring import Wiring

_WEB_CHAT = Address(channel="webchat", account="default", kind=ChatKind.DIRECT, conversation="main")
_AT_HOME = ContextDecision(allowed=True, reason=Reason.SAME_CONVERSATION)


@bug("platform-is-one-conversation", deciding("decide_context"), reports=("B161",), caught_by=("P3",))
def _platform_is_home(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """Every conversation of the turn's platform counts as its own, so nothing decides on the hop to another one."""
    origin = question.origin
    if origin is not None and origin.channel == question.target.channel:
        return _AT_HOME
    return decide_context(question, config)


@bug("changes-are-not-guarded", deciding("decide_context"), reports=("B156",), caught_by=("P3",))
def _changes_pass(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """The policy judges messages, but not edits, deletions and pins."""
    if SPECS[question.action].kind is ActionKind.CHANGE:
        return ContextDecision(allowed=True, reason=Reason.NOT_GUARDED)
    return decide_context(question, config)


@bug("allowed-whatever-is-configured", deciding("decide_context"), caught_by=("P3",))
def _always_allowed(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """A denial of the policy is recorded as an allowance."""
    decided = decide_context(question, config)
    if decided.allowed:
        return decided
    across = question.origin is None or question.origin.channel != question.target.channel
    return ContextDecision(allowed=True, reason=Reason.ACROSS_PROVIDERS if across else Reason.WITHIN_PROVIDER)


@bug("nowhere-is-web-chat", deciding("decide_context"), reports=("B159",), caught_by=("P3",))
def _nowhere_is_web_chat(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """A turn without a conversation inherits the web chat of the gateway as its context: all it sends is denied."""
    if question.origin is None:
        question = msgspec.structs.replace(question, origin=_WEB_CHAT)
    return decide_context(question, config)


@bug("mark-is-left-out", deciding("decide_context"), caught_by=("P4",))
def _unmarked(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """What the message tool sends is never marked, wherever it comes from."""
    return msgspec.structs.replace(decide_context(question, config), mark=None)


@bug("denied-text-goes-home", each_turn, reports=("B158",), caught_by=("P5",))
class _FallsBack(TurnWrapper):
    """A text that may not go elsewhere is delivered in the conversation of its turn."""

    async def send(self, text: str, to: Any = None, **options: Any) -> ActionResult:
        """Send; a denied text is sent to the place of the turn. The agent gets the denial."""
        try:
            return await self.inner.send(text, to, **options)
        except PolicyDenied:
            await self.inner.send(text)
            raise


@bug("denial-holds-once", caught_by=("P5",))
def _install_forgetful(wiring: Wiring) -> None:
    """A denial is cached as an answer for its target, so a second try in the same conversation goes through."""
    denied: set[tuple[Address | None, Address]] = set()

    def decide(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
        asked = (question.origin, question.target)
        if asked in denied:
            return _AT_HOME
        decided = decide_context(question, config)
        if not decided.allowed:
            denied.add(asked)
        return decided

    wiring.replace(decide_context=decide)
