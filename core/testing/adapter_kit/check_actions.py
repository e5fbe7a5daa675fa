"""Checks of actions that are no messages. The first line of each docstring is its sentence in the report."""

import msgspec

from trunkline.core.action_catalogue import Action, ActionKind
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.channels.adapter import Actions
from trunkline.core.errors import Refused
from trunkline.core.testing.adapter_kit.check_run import CheckFailed, CheckRun, NoAnswer, describe
from trunkline.core.testing.adapter_kit.platform_double import NotTried, SeenMessage
from trunkline.core.values import Capability, Receipt, SendRequest

_EMOJI = "👍"
#: changes that need no more than a message, and a text that each accepts
_OF_MESSAGES = {
    Action.EDIT: "another text",
    Action.DELETE: "",
    Action.UNSEND: "",
    Action.REACT: _EMOJI,
    Action.PIN: "",
    Action.UNPIN: "",
}
#: questions that need no more than a message or its conversation
_QUESTIONS = (Action.REACTIONS, Action.READ, Action.LIST_PINS)


async def edit(trial: CheckRun) -> None:
    """An edited message has the new text, and stays the same message."""
    request, receipt = await _send_message(trial, Action.EDIT)
    changed = msgspec.structs.replace(request, text=f"{request.text} again")
    change = trial.change(Action.EDIT, receipt, changed.text)
    await _change_twice(trial, change)
    await trial.check_only_message(changed, receipt)


async def delete(trial: CheckRun) -> None:
    """A deleted message is gone, and no other one."""
    actions = trial.adapter.capabilities.actions
    action = Action.DELETE if Action.DELETE in actions else Action.UNSEND
    kept, _ = await _send_message(trial, action, "deleted")
    request, receipt = await _send_message(trial, action)
    await _change_twice(trial, trial.change(action, receipt))
    if any(not message.deleted for message in await trial.find_messages(request)):
        raise CheckFailed("the message is still there")
    await trial.check_accepted(kept)


async def react(trial: CheckRun) -> None:
    """A reaction is attached to its message once, can be taken away, and is not a message."""
    request, receipt = await _send_message(trial, Action.REACT, "reactions")
    change = trial.change(Action.REACT, receipt, _EMOJI)
    await _change_twice(trial, change)
    await _check_reactions(trial, request, receipt, (_EMOJI,))
    await _change_twice(trial, msgspec.structs.replace(trial.change(Action.REACT, receipt, _EMOJI), remove=True))
    await _check_reactions(trial, request, receipt, ())


async def pin(trial: CheckRun) -> None:
    """A pinned message is pinned, and an unpinned one is not."""
    request, receipt = await _send_message(trial, Action.PIN, "pinned")
    for action, pinned in ((Action.PIN, True), (Action.UNPIN, False)):
        await _change_twice(trial, trial.change(action, receipt))
        message = await trial.check_only_message(request, receipt)
        if message.pinned is not pinned:
            raise CheckFailed(f"after {action.value}, the message is {'pinned' if message.pinned else 'not pinned'}")


async def unknown_message(trial: CheckRun) -> None:
    """A change of a message that does not exist is refused."""
    claimed = [action for action in _OF_MESSAGES if action in trial.adapter.capabilities.actions]
    if not claimed:
        raise NotTried("it changes no messages")
    _, receipt = await _send_message(trial, claimed[0])
    unknown = msgspec.structs.replace(receipt, provider_id=f"{receipt.provider_id}404")
    for action in claimed:
        await _check_refused(trial, trial.change(action, unknown, _OF_MESSAGES[action]), "of an unknown message")


async def unclaimed_action(trial: CheckRun) -> None:
    """An action that the adapter does not claim is refused."""
    missing = [action for action in _OF_MESSAGES if action not in trial.adapter.capabilities.actions]
    if not isinstance(trial.adapter, Actions):
        raise NotTried("it carries out no actions")
    if not missing:
        raise NotTried("it has every change of messages")
    _, receipt = await _send_message(trial, None)
    for action in missing:
        await _check_refused(trial, trial.change(action, receipt, _OF_MESSAGES[action]), "which it does not claim")


async def questions(trial: CheckRun) -> None:
    """A question is answered with a value that JSON has; one about an unknown message is refused."""
    claimed = [action for action in _QUESTIONS if action in trial.adapter.capabilities.actions]
    if not claimed:
        raise NotTried("it answers no questions about messages")
    _, receipt = await _send_message(trial, None)
    for action in claimed:
        outcome = await trial.ask(action, receipt)
        if isinstance(outcome, Exception | NoAnswer):
            raise CheckFailed(f"{action.value} was not answered: {describe(outcome)}")
        try:
            msgspec.json.encode(outcome)
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise CheckFailed(f"the answer to {action.value} is no JSON: {error}") from None
    if Action.REACTIONS in claimed:
        unknown = msgspec.structs.replace(receipt, provider_id=f"{receipt.provider_id}404")
        outcome = await trial.ask(Action.REACTIONS, unknown)
        if not isinstance(outcome, Refused):
            raise CheckFailed(f"reactions of an unknown message: expected Refused, got {describe(outcome)}")


async def _send_message(trial: CheckRun, action: Action | None, shown: str = "") -> tuple[SendRequest, Receipt]:
    """Send a message to act on. Raises `NotTried` for a missing action, or an effect invisible on the bench."""
    if action is not None and action not in trial.adapter.capabilities.actions:
        raise NotTried(f"it has no {action.value}")
    if shown and shown not in trial.bench.shows:
        raise NotTried(f"the bench does not show {shown}")
    if not trial.can(Capability.MESSAGE_IDS):
        raise NotTried("its receipts name no message")
    request = trial.request()
    return request, await trial.send_accepted(request)


async def _change_twice(trial: CheckRun, change: ActionRequest) -> None:
    """Carry out a change twice, if the gateway may repeat a change in doubt."""
    await trial.carry_out(change)
    assert change.action.spec.kind is ActionKind.CHANGE
    if change.action.spec.repeatable:
        again = msgspec.structs.replace(change, attempt=2)
        outcome = await trial.act(again)
        if not isinstance(outcome, Receipt):
            raise CheckFailed(f"a repeat of {change.action.value} failed: {describe(outcome)}")


async def _check_reactions(trial: CheckRun, request: SendRequest, receipt: Receipt, reactions: tuple[str, ...]) -> None:
    message: SeenMessage = await trial.check_only_message(request, receipt)
    if message.reactions != reactions:
        raise CheckFailed(f"the message has the reactions {message.reactions}")


async def _check_refused(trial: CheckRun, change: ActionRequest, why: str) -> None:
    outcome = await trial.act(change)
    if not isinstance(outcome, Refused):
        raise CheckFailed(f"{change.action.value} {why}: expected Refused, got {describe(outcome)}")
