"""How a scripted agent uses its message tool: with arguments, or with the wire parameters of a model."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from trunkline.core.action_catalogue import Action, ActionKind
from trunkline.core.actions.result import ActionResult
from trunkline.core.agent import Turn
from trunkline.core.channels import rules_for
from trunkline.core.errors import PlatformError, PolicyDenied, UsageError
from trunkline.core.message_parts import Button
from trunkline.core.values import Address
from trunkline.core.well_formed import describe
from trunkline.sim.cast.cast_world import CastWorld, NamedMessage
from trunkline.sim.events import actions, hands, script
from trunkline.sim.scenario.model.agent_actions import ActAction, SendAction
from trunkline.sim.scenario.place_refs import as_target
from trunkline.sim.scenario.templates import fill

#: a tag that names another message than that of the turn
_REPLY_TAG = re.compile(r"\[\[[ \t]*reply_to[ \t]*:[ \t]*([^\[\]\s]+)[ \t]*\]\]", re.IGNORECASE)


class TurnSpeech:
    """The texts of one turn: its sends, repeats, and those that the policy denied.

    Texts are compared without regard to white space.
    """

    def __init__(
        self, agent: str, turn: str, record: Callable[..., object], hidden: Callable[[str, str], tuple[str, ...]]
    ) -> None:
        self._agent, self._turn = agent, turn
        self._record = record
        #: the words of a text of an agent that only its reasoning has
        self._hidden = hidden
        self._asked: set[tuple[str, str]] = set()
        self._passed: set[str] = set()
        self._denied: dict[str, str] = {}

    def asks(self, where: str, text: str) -> None:
        """Record that the agent asks its tool to send a text to a place, and a repeat. Empty: the place of the turn."""
        self._record(hands.AgentSends(agent=self._agent, text=text, to=where), turn=self._turn)
        self._note_signs(text)
        asked = (where, _words(text))
        if asked in self._asked:
            self._record(script.SaidTwice(by=self._by, text=text), turn=self._turn)
        self._asked.add(asked)

    def returns(self, text: str) -> None:
        """The agent returns a text, which is no second send."""
        self._note_signs(text)
        self.passes(text)

    def quotes(self, message: str) -> None:
        """The agent answers a message, which is not that of its turn."""
        self._record(hands.AgentQuotes(agent=self._agent, message=message), turn=self._turn)

    def _note_signs(self, text: str) -> None:
        """Record what a text has for the gateway: tags of replies, and reasoning."""
        for tag in _REPLY_TAG.finditer(text) if "[[" in text else ():
            self.quotes(tag[1])
        if marks := self._hidden(text, self._agent):
            self._record(hands.AgentReasoned(agent=self._agent, marks=marks), turn=self._turn)

    def passes(self, text: str) -> None:
        """The gateway takes a text."""
        self._passed.add(_words(text))

    def is_denied(self, text: str) -> None:
        """The policy denies a text."""
        self._denied[_words(text)] = text

    def end(self) -> None:
        """The agent has finished. Records the denied texts that it said nowhere else."""
        for words, text in self._denied.items():
            if words and words not in self._passed:
                self._record(script.TextDenied(by=self._by, text=text), turn=self._turn)

    @property
    def _by(self) -> str:
        return f"agent {self._agent}"


def _words(text: str) -> str:
    return " ".join(text.split())


#: actions that send a message
_SENDS = frozenset(action.value for action in Action if action.spec.kind is ActionKind.MESSAGE)
#: names of a text
_TEXTS = ("message", "text", "newText", "content")
#: actions whose `of` is the message that they answer
_ANSWERS = _SENDS - {Action.REPLY.value}
#: slots for the texts of later actions
Slots = dict[str, str]


class ToolUser:
    """Calls the message tool for an agent. Each call gives the slots that say what became of it."""

    def __init__(self, world: CastWorld, session_key: Callable[[str, str], str]) -> None:
        self._world = world
        self._session_key = session_key

    async def send(self, send: SendAction, turn: Turn, text: str, speech: TurnSpeech) -> Slots:
        """Send a message; a refused one has no effect."""
        # A place that is not open yet is an error in the scenario, so it is not suppressed.
        to = send.target if send.to is None else self._world.address(send.to)
        session = None if send.session is None else self._session_key(turn.agent, send.session)
        replied = None if send.reply_to is None else self._message(turn, send.reply_to)
        where = {"to": str(to or ""), "channel": send.channel, "account": send.account, "thread": send.thread}
        more = {"session": session, "replyTo": replied, "media": send.media, "buttons": send.buttons}
        more |= {"silent": send.silent, "dryRun": send.dry_run}
        asked = {name: value for name, value in {"message": text, **where, **more}.items() if value}
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
        except Exception as error:
            self._tell(turn, "send", asked, to, error)
            if isinstance(error, UsageError):
                return _refused(error, speech, [text])
            raise
        self._tell(turn, "send", asked, to, result)
        if not send.dry_run:
            speech.passes(text)
        return self._done(turn, result, send.label)

    async def act(self, act: ActAction, turn: Turn, slots: Mapping[str, str], number: int, speech: TurnSpeech) -> Slots:
        """Call the tool with wire parameters; a refused call has no effect, and an unanswered question no answer.

        `number`: that of the call in its turn.
        """
        params: dict[str, Any] = {"action": act.action, **_filled(act.parameters, slots), **self._where(act, turn)}
        meant = NamedMessage() if act.of is None else self._world.messages.find(turn.agent, turn.session_key, act.of)
        if act.of is not None:
            params["replyTo" if act.action in _ANSWERS else "messageId"] = meant.text
        acts = actions.AgentActs(
            action=act.action,
            call=number,
            message=act.of or "",
            place=meant.place,
            message_id=meant.message_id,
            of=meant.of,
            text=_text_of(params, *_TEXTS) if act.action == Action.EDIT.value else "",
        )
        self._world.events.record(acts, turn=turn.id)
        answered = params.get("replyTo", params.get("messageId"))
        if act.of is None and act.action in _SENDS and isinstance(answered, str):
            speech.quotes(answered.strip())
        texts = [text for _, text in self.texts_of(act, turn, slots)]
        aim = self._world.address(act.to[0]) if len(act.to) == 1 else None
        try:
            result = await turn.message(params)
        except Exception as error:
            self._tell(turn, act.action, params, aim, error)
            if isinstance(error, UsageError | PlatformError):
                return _refused(error, speech, texts)
            raise
        self._tell(turn, act.action, params, aim, result)
        for text in texts:
            speech.passes(text)
        return self._done(turn, result, act.label)

    def texts_of(self, act: ActAction, turn: Turn, slots: Mapping[str, str]) -> list[tuple[str, str]]:
        """The text that a call sends, with each place as the agent names it; empty for the place of the turn."""
        if act.action not in _SENDS or act.parameters.get("dryRun"):
            return []
        # Of a file alone, or a sticker, the text is empty.
        said = _text_of(act.parameters, *_TEXTS, "pollQuestion", "caption")
        places = ["" if self._world.address(place) == turn.place else place for place in act.to]
        return [(place, fill(said, slots)) for place in places or [str(act.parameters.get("target", ""))]]

    def _where(self, act: ActAction, turn: Turn) -> dict[str, Any]:
        """Place and person as wire parameters."""
        places = [self._world.address(place) for place in act.to]
        found: dict[str, Any] = {}
        if places:
            found = {"channel": places[0].channel, "accountId": places[0].account}
            if len(places) == 1 and act.action != Action.BROADCAST.value:
                written = rules_for(places[0].channel).write(places[0])
                found["target"] = written.target
                found |= {} if written.thread is None else {"threadId": written.thread}
            else:
                found["targets"] = [as_target(place) for place in places]
        if act.user is not None:
            channel = places[0].channel if places else "" if turn.place is None else turn.place.channel
            found["userId"] = self._world.peer(channel, act.user).id
        return found

    def _message(self, turn: Turn, name: str) -> str:
        return self._world.messages.find(turn.agent, turn.session_key, name).text

    def _tell(self, turn: Turn, action: str, asked: Mapping[str, Any], aim: object, answer: object) -> None:
        """Record what the tool answered: a result, or an error."""
        told = actions.AgentTold(
            agent=turn.agent,
            at=turn.place,
            asked=msgspec.json.encode(asked).decode(),
            aim=aim if isinstance(aim, Address) else None,
            action=action,
            status="raised",
        )
        if isinstance(answer, ActionResult):
            told = msgspec.structs.replace(
                told,
                status=answer.status.value,
                place=answer.place,
                named=answer.intent,
                session_key=answer.session_key,
                reason=str(answer.reason or ""),
                detail=answer.detail,
                each=tuple([single.status.value for single in answer.results]),
            )
        elif isinstance(answer, Exception):
            known = (("refused", UsageError), ("unanswered", PlatformError))
            status = next((word for word, kind in known if isinstance(answer, kind)), "raised")
            reason = str(getattr(answer, "reason", ""))
            told = msgspec.structs.replace(told, status=status, reason=reason, detail=describe(answer))
        self._world.events.record(told, turn=turn.id)

    def _done(self, turn: Turn, result: ActionResult, label: str | None) -> Slots:
        for single in result.results or (result,):
            if single.intent is not None and single.action.spec.kind is ActionKind.MESSAGE:
                self._world.messages.note_sent(turn.agent, turn.session_key, single.intent, label)
        return {"status": result.status.value, "error": result.detail, "data": result.data or ""}


class RecordedTurn:
    """The turn of an agent with code of its own: records each text before it is sent, and passes everything else on."""

    def __init__(self, turn: Turn, speech: TurnSpeech) -> None:
        self._turn, self._speech = turn, speech

    def __getattr__(self, name: str) -> Any:
        return getattr(self._turn, name)

    async def send(self, text: str, to: Address | str | None = None, **options: Any) -> ActionResult:
        """Send a text, as `Turn.send`."""
        here = to is None or to == self._turn.place
        said = [] if options.get("dry_run") else [("" if here else str(to), text)]
        return await self._call(said, self._turn.send(text, to, **options))

    async def message(self, params: Mapping[str, object]) -> ActionResult:
        """Call the message tool, as `Turn.message`."""
        text = params.get("message") or params.get("pollQuestion")
        sends = params.get("action") in _SENDS and isinstance(text, str) and not params.get("dryRun")
        targets = cast("Sequence[object] | None", params.get("targets"))
        places = (params.get("target", ""),) if targets is None else targets
        said = [(str(place), str(text)) for place in places] if sends else []
        return await self._call(said, self._turn.message(params))

    async def _call(self, said: list[tuple[str, str]], call: Any) -> ActionResult:
        for where, text in said:
            self._speech.asks(where, text)
        try:
            result = await call
        except PolicyDenied:
            for _, text in said:
                self._speech.is_denied(text)
            raise
        for _, text in said:
            self._speech.passes(text)
        return result


def _refused(error: UsageError | PlatformError, speech: TurnSpeech, texts: list[str]) -> Slots:
    if isinstance(error, PolicyDenied):
        for text in texts:
            speech.is_denied(text)
    return {"status": "refused", "error": error.facts, "data": ""}


def _text_of(params: Mapping[str, Any], *names: str) -> str:
    return next((text for name in names if (text := params.get(name)) and isinstance(text, str)), "")


def _filled(value: Any, slots: Mapping[str, str]) -> Any:
    """A parameter with all templates in it filled."""
    if isinstance(value, str):
        return fill(value, slots)
    if isinstance(value, list):
        return [_filled(item, slots) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _filled(item, slots) for name, item in cast("dict[str, Any]", value).items()}
    return value
