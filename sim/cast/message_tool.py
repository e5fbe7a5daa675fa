"""How a scripted agent uses its message tool: with arguments, or with the wire parameters of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from trunkline.core.action_names import Action
from trunkline.core.actions.catalogue import SPECS
from trunkline.core.actions.result import ActionResult
from trunkline.core.actions.spec import ActionKind
from trunkline.core.agent import Turn
from trunkline.core.channels import rules_for
from trunkline.core.errors import PlatformError, PolicyDenied, UsageError
from trunkline.core.message_parts import Button
from trunkline.core.values import Address
from trunkline.sim.cast.named_messages import NamedMessage, NamedMessages
from trunkline.sim.cast.speech import TurnSpeech
from trunkline.sim.events.actions import AgentActs
from trunkline.sim.scenario.model.agent_actions import ActAction, SendAction
from trunkline.sim.scenario.templates import fill

#: actions that send a message
_SENDS = frozenset(action.value for action, spec in SPECS.items() if spec.kind is ActionKind.MESSAGE)
#: actions whose `of` is the message that they answer
_ANSWERS = _SENDS - {Action.REPLY.value}
#: slots for the texts of later actions
Slots = dict[str, str]


class ToolUser:
    """Calls the message tool for an agent. Each call gives the slots that say what became of it."""

    def __init__(
        self,
        *,
        resolve: Callable[[str], Address],
        session_key: Callable[[str, str], str],
        messages: NamedMessages,
        person_id: Callable[[str, str], str],
        record: Callable[..., object],
    ) -> None:
        self._resolve = resolve
        self._session_key = session_key
        self._messages = messages
        self._person_id = person_id
        self._record = record

    async def send(self, send: SendAction, turn: Turn, text: str, speech: TurnSpeech) -> Slots:
        """Send a message; a refused one has no effect."""
        # A place that is not open yet is an error in the scenario, so it is not suppressed.
        to = send.target if send.to is None else self._resolve(send.to)
        session = None if send.session is None else self._session_key(turn.agent, send.session)
        replied = None if send.reply_to is None else self._message(turn, send.reply_to)
        try:
            result = await turn.send(
                text,
                to,
                channel=send.channel,
                account=send.account,
                thread=send.thread,
                session=session,
                reply_to=replied,
                media=send.media,
                buttons=(tuple(Button(text=label, value=label) for label in send.buttons),) if send.buttons else (),
                silent=send.silent,
                dry_run=send.dry_run,
            )
        except UsageError as error:
            return _refused(error, speech, [text])
        if not send.dry_run:
            speech.passes(text)
        return self._done(turn, result, send.label)

    async def act(self, act: ActAction, turn: Turn, slots: Mapping[str, str], number: int, speech: TurnSpeech) -> Slots:
        """Call the tool with wire parameters; a refused call has no effect, and an unanswered question no answer.

        `number`: that of the call in its turn.
        """
        params: dict[str, Any] = {"action": act.action, **_filled(act.parameters, slots), **self._where(act, turn)}
        meant = NamedMessage() if act.of is None else self._messages.find(turn.agent, turn.session_key, act.of)
        if act.of is not None:
            params["replyTo" if act.action in _ANSWERS else "messageId"] = meant.text
        acts = AgentActs(
            action=act.action,
            call=number,
            message=act.of or "",
            place=meant.place,
            message_id=meant.message_id,
            of=meant.of,
        )
        self._record(acts, turn=turn.id)
        texts = [text for _, text in self.texts_of(act, turn, slots)]
        try:
            result = await turn.message(params)
        except (UsageError, PlatformError) as error:
            return _refused(error, speech, texts)
        for text in texts:
            speech.passes(text)
        return self._done(turn, result, act.label)

    def texts_of(self, act: ActAction, turn: Turn, slots: Mapping[str, str]) -> list[tuple[str, str]]:
        """The text that a call sends, with each place as the agent names it; empty for the place of the turn."""
        said = act.parameters.get("message") or act.parameters.get("pollQuestion")
        if act.action not in _SENDS or not isinstance(said, str) or act.parameters.get("dryRun"):
            return []
        places = ["" if self._resolve(place) == turn.place else place for place in act.to]
        return [(place, fill(said, slots)) for place in places or [str(act.parameters.get("target", ""))]]

    def _where(self, act: ActAction, turn: Turn) -> dict[str, Any]:
        """Place and person as wire parameters."""
        places = [self._resolve(place) for place in act.to]
        found: dict[str, Any] = {}
        if places:
            written = [rules_for(place.channel).write(place) for place in places]
            found = {"channel": places[0].channel, "accountId": places[0].account}
            if len(places) == 1 and act.action != Action.BROADCAST:
                found["target"] = written[0].target
                found |= {} if written[0].thread is None else {"threadId": written[0].thread}
            else:
                found["targets"] = [destination.target for destination in written]
        if act.user is not None:
            channel = places[0].channel if places else "" if turn.place is None else turn.place.channel
            found["userId"] = self._person_id(channel, act.user)
        return found

    def _message(self, turn: Turn, name: str) -> str:
        return self._messages.find(turn.agent, turn.session_key, name).text

    def _done(self, turn: Turn, result: ActionResult, label: str | None) -> Slots:
        for single in result.results or (result,):
            if single.intent is not None and SPECS[single.action].kind is ActionKind.MESSAGE:
                self._messages.note_sent(turn.agent, turn.session_key, single.intent, label)
        return {"status": result.status.value, "error": result.detail, "data": result.data or ""}


def _refused(error: UsageError | PlatformError, speech: TurnSpeech, texts: list[str]) -> Slots:
    if isinstance(error, PolicyDenied):
        for text in texts:
            speech.is_denied(text)
    return {"status": "refused", "error": error.facts, "data": ""}


def _filled(value: Any, slots: Mapping[str, str]) -> Any:
    """A parameter with all templates in it filled."""
    if isinstance(value, str):
        return fill(value, slots)
    if isinstance(value, list):
        return [_filled(item, slots) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _filled(item, slots) for name, item in cast("dict[str, Any]", value).items()}
    return value
