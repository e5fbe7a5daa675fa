"""The turn that a running agent holds. It checks what the agent passes in, and refuses its tools once it has ended."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.result import ActionResult
from trunkline.core.agent import DoneBefore
from trunkline.core.delivery.answers import SaidInTurn
from trunkline.core.errors import InvalidCall, TurnOver
from trunkline.core.hands.callback_message import callback_message
from trunkline.core.hands.port import Delegated, DelegationRequest, DelegationStatus
from trunkline.core.hands.tool import (
    HandCall,
    HandTool,
    hand_tools,
    read_call,
    text_of_cancel,
    text_of_list,
    text_of_status,
)
from trunkline.core.message_parts import Button, MessageParts, Part
from trunkline.core.message_tool.schema import SchemaForm
from trunkline.core.prompts import Prompt, joined
from trunkline.core.reasons import Reason
from trunkline.core.records.origin import Origin
from trunkline.core.records.rows import CallbackFacts, Work
from trunkline.core.runtime.client_sends.target_resolution import ToolSend
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.delegation.hand_tools import CANCEL, DELEGATE, HandTools
from trunkline.core.runtime.message_tool.message_tool import TOOL, MessageTool
from trunkline.core.runtime.message_tool.results import ToolCall, ToolMessage, record_refusal
from trunkline.core.store.queries import ReadTranscript
from trunkline.core.untrusted import check_address, check_texts
from trunkline.core.values import Address, DelegationId, Peer, Poll, SessionId, TranscriptLine, TurnId, WorkKind
from trunkline.core.well_formed import plain_text

#: characters of the name of a tool that there is not, in its event
_SHOWN = 100
#: the tool that lists delegations, in events
LIST = "delegations"


class LiveTurn:
    """The `trunkline.core.agent.Turn` of a running agent."""

    def __init__(
        self,
        context: Context,
        message_tool: MessageTool,
        hands: HandTools,
        work: Work,
        started: int,
        session_id: SessionId,
        *,
        again: bool = False,
        prompts: tuple[Prompt, ...] = (),
        said: list[SaidInTurn] | None = None,
    ) -> None:
        self._ctx = context
        self._message_tool = message_tool
        self._hands = hands
        self._work = work
        self._started = started
        #: the turn runs again: an earlier process may have made its calls
        self.again: bool = again
        self._calls = 0
        self._over = False
        #: what it has queued with the message tool
        self._said: list[SaidInTurn] = [] if said is None else said
        self.id: TurnId = work.turn
        self.agent: str = work.agent
        self.session_key: str = work.session_key
        self.session_id: SessionId = session_id
        self.work: WorkKind = work.kind
        self.text: str = work.text
        self.parts: tuple[Part, ...] = work.parts
        self.peer: Peer = work.sender
        self.asked_by: Peer | None = work.asked_by
        self.origin: Origin | None = work.origin
        self.place: Address | None = work.place
        self.callback: CallbackFacts | None = work.callback
        self.prompts: tuple[Prompt, ...] = prompts
        self.prompt: str | None = joined(prompts)

    @property
    def for_model(self) -> str:
        done = self.callback
        if done is None:
            return self.text
        return callback_message(
            hand=done.hand, outcome=done.outcome, text=self.text, delegation=done.delegation, label=done.label
        )

    def end(self) -> None:
        """The agent has returned: the tools are refused from now on."""
        self._over = True

    async def send(  # noqa: PLR0913 -- one keyword for each thing that an agent may say of a message
        self,
        text: str,
        to: Address | str | None = None,
        *,
        channel: str | None = None,
        account: str | None = None,
        thread: str | None = None,
        session: str | None = None,
        reply_to: str | None = None,
        media: Sequence[str] = (),
        poll: Poll | None = None,
        buttons: Sequence[Sequence[Button]] = (),
        silent: bool = False,
        dry_run: bool = False,
    ) -> ActionResult:
        call = self._begin_call(TOOL)
        named = {"channel": channel, "account": account, "thread": thread, "session": session, "reply_to": reply_to}
        exact = isinstance(to, Address)
        wrong = check_address(to) if exact else check_texts((("to", to),))
        wrong = wrong or check_texts(named.items())
        parts: MessageParts | None = None
        if media or poll is not None or buttons or silent or dry_run:
            wrong = wrong or check_beside(media, poll, buttons, silent, dry_run)
            parts = None if wrong else parts_of(buttons, silent=silent)
        said = self._text(TOOL, "text", text, wrong)
        message = ToolMessage(
            aim=ToolSend(running=self.session_id, to=to, **named),
            text=said if poll is None or said.strip() else poll.question,
            media=tuple(media),
            poll=poll,
            parts=parts,
            action=Action.SEND if poll is None else Action.POLL,
            dry_run=dry_run,
        )
        return await self._message_tool.send(call, message)

    async def message(self, params: Mapping[str, object]) -> ActionResult:
        call = self._begin_call(TOOL)
        given = plain_params(params)
        if given is None:
            what = f"{type(params).__name__} instead of a mapping from the names of parameters to their values"
            raise self._wrong(TOOL, f"the parameters are of type {what}")
        return await self._message_tool.run(call, given)

    async def done_before(self) -> DoneBefore:
        if not self.again:
            return DoneBefore()
        sent = await self._message_tool.of_earlier_runs(self._work)
        return DoneBefore(sent=sent, delegated=await self._hands.of_earlier_runs(self._work))

    def message_tool(self, form: SchemaForm = SchemaForm.OPENAI) -> dict[str, Any]:
        return self._message_tool.schema(self._work).form(form)

    async def send_async(
        self,
        agent_id: str,
        message: str,
        *,
        timeout: float | None = None,
        label: str = "",
        reply_to: Address | str | None = None,
        thread: bool | None = None,
    ) -> Delegated:
        call = self._begin_call(DELEGATE)
        wrong = "" if thread in (None, True, False) else "thread is not a bool"
        if not wrong and isinstance(reply_to, Address):
            wrong = check_address(reply_to)
        elif not wrong and reply_to is not None:
            wrong = check_texts((("reply_to", reply_to),))
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float)):  # pyright: ignore[reportUnnecessaryIsInstance]
            wrong = wrong or f"timeout is of type {type(timeout).__name__} instead of a number of seconds"
        asked = DelegationRequest(
            hand=self._text(DELEGATE, "agent_id", agent_id, wrong),
            task=self._text(DELEGATE, "message", message, ""),
            thread=thread,
            timeout=timeout,
            label=self._text(DELEGATE, "label", label, ""),
            reply_to=reply_to,
        )
        return await self._hands.delegate(call, asked)

    async def delegate(self, hand: str, task: str, *, thread: bool | None = None) -> DelegationId:
        return (await self.send_async(hand, task, thread=thread)).delegation

    async def cancel(self, delegation: str) -> bool:
        call = self._begin_call(CANCEL)
        return await self._hands.cancel(call, self._text(CANCEL, "delegation", delegation, ""))

    async def delegations(self) -> tuple[DelegationStatus, ...]:
        self._begin(LIST)
        return self._hands.open_of(self.session_id)

    def hand_tools(self, form: SchemaForm = SchemaForm.OPENAI) -> list[dict[str, Any]]:
        return hand_tools(form, hands=self._hands.names_for(self.agent), homeless=self._is_homeless)

    async def call_hand_tool(self, name: str, params: Mapping[str, object]) -> str:
        asked = self._read_call(name, params)
        if asked.tool is HandTool.SEND_ASYNC:
            delegated = await self.send_async(
                asked.agent_id, asked.message, timeout=asked.timeout, label=asked.label, reply_to=asked.reply_to
            )
            return delegated.for_model
        if asked.tool is HandTool.CANCEL:
            return text_of_cancel(asked.delegation_id, cancelled=await self.cancel(asked.delegation_id))
        if asked.tool is HandTool.STATUS:
            return text_of_status(await self.delegations(), asked.delegation_id)
        self._begin(asked.tool)
        return text_of_list(self._hands.names_for(self.agent))

    def _read_call(self, name: str, params: Mapping[str, object]) -> HandCall:
        """A call of a tool for hands, checked. Raises `InvalidCall`."""
        said, given = plain_text(name), plain_params(params)
        if said is None or given is None:
            what = "its name is no text" if said is None else "its parameters are no mapping from names to values"
            raise self._wrong("hand tool", what)
        try:
            return read_call(said, given, homeless=self._is_homeless)
        except InvalidCall as error:
            record_refusal(self._ctx, self._work, said[:_SHOWN], error, Reason.BAD_ARGUMENT, self._started)
            raise

    @property
    def _is_homeless(self) -> bool:
        """Whether a result could go nowhere unless the turn says where."""
        return self._work.reply_to is None and self._work.serves is None

    async def history(self, last: int | None = None) -> tuple[TranscriptLine, ...]:
        return await self._ctx.store.read(ReadTranscript(session=self.session_id, last=last, authors=True))

    def _begin_call(self, tool: str) -> ToolCall:
        """A call of a tool. Raises `TurnOver`."""
        self._begin(tool)
        return ToolCall(
            work=self._work,
            session=self.session_id,
            number=self._calls,
            cause=self._started,
            again=self.again,
            said=self._said,
        )

    def _begin(self, tool: str) -> None:
        """Number a tool call. Raises `TurnOver`."""
        self._calls += 1
        if self._over:
            error = TurnOver(f"{tool} of turn {self.id}: call its tools before you return from `turn`")
            record_refusal(self._ctx, self._work, tool, error, Reason.TURN_OVER, self._started)
            raise error

    def _text(self, tool: str, name: str, value: object, wrong: str) -> str:
        """A required text as a storable one. Raises `InvalidCall` for anything else, or if something is `wrong`."""
        said = plain_text(value)
        if wrong or said is None:
            raise self._wrong(tool, wrong or f"{name} is of type {type(value).__name__} instead of a str")
        return said

    def _wrong(self, tool: str, what: str) -> InvalidCall:
        """Record a call with wrong arguments; returns the error."""
        error = InvalidCall(f"{tool}: {what}")
        record_refusal(self._ctx, self._work, tool, error, Reason.BAD_ARGUMENT, self._started)
        return error


# What an agent passes to its tools is checked: Python does not enforce type hints.


def check_beside(media: object, poll: object, buttons: object, silent: object, dry_run: object) -> str:
    """The problem with files, poll, buttons or flags of a send; empty if there is none."""
    if not (isinstance(media, list | tuple) and isinstance(buttons, list | tuple)):
        name, value = ("buttons", buttons) if isinstance(media, list | tuple) else ("media", media)
        return f"{name} is of type {type(value).__name__} instead of a list"
    files = cast("Sequence[object]", media)
    wrong = check_texts((f"media[{number}]", path) for number, path in enumerate(files))
    if wrong or None in files:
        return wrong or "media has None in it"
    if not (poll is None or isinstance(poll, Poll)):
        return f"poll is of type {type(poll).__name__} instead of a Poll"
    flags = silent in (True, False) and dry_run in (True, False)
    return next(_check_buttons(cast("Sequence[object]", buttons)), "") if flags else "silent or dry_run is not a bool"


def plain_params(params: object) -> dict[str, object] | None:
    """The parameters of a call as a dict; None for what is no mapping of names."""
    if not isinstance(params, Mapping):
        return None
    try:
        given = dict(cast("Mapping[object, object]", params))
    except Exception:  # noqa: BLE001 -- a mapping of the agent's own may raise anything
        return None
    return cast("dict[str, object]", given) if all(type(name) is str for name in given) else None


def _check_buttons(rows: Sequence[object]) -> Iterator[str]:
    for number, row in enumerate(rows):
        if not isinstance(row, list | tuple):
            yield f"buttons[{number}] is of type {type(row).__name__} instead of a row of buttons"
            return
        for button in cast("Sequence[object]", row):
            if not isinstance(button, Button):
                yield f"buttons[{number}] has a {type(button).__name__} instead of a Button"
                return
            wrong = check_texts((("text", button.text), ("value", button.value), ("url", button.url)))
            if wrong or not button.text.strip():
                yield f"buttons[{number}]: {wrong or 'a button without a text'}"


def parts_of(buttons: Sequence[Sequence[Button]], *, silent: bool) -> MessageParts | None:
    rows = tuple(tuple(row) for row in buttons if row)
    return MessageParts(silent=bool(silent), buttons=rows) if rows or silent else None
