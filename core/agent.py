"""The agent, implemented by users, and the turn as the agent's work."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from trunkline.core.actions.result import ActionResult
from trunkline.core.hands.port import Delegated, DelegationStatus
from trunkline.core.message_parts import Button, Part
from trunkline.core.message_tool.schema import SchemaForm
from trunkline.core.prompts import Prompt
from trunkline.core.records.origin import Origin
from trunkline.core.records.rows import CallbackFacts
from trunkline.core.values import Address, DelegationId, Peer, Poll, TranscriptLine, TurnId, WorkKind


class GivenTask(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A task delegated by a turn."""

    delegation: DelegationId
    hand: str
    task: str


class DoneBefore(msgspec.Struct, frozen=True, kw_only=True):
    """The work of earlier runs of a turn, in the order of the calls."""

    #: messages and changes, with what each says (`ActionResult.said`); the sends of a broadcast are left out
    sent: tuple[ActionResult, ...] = ()
    delegated: tuple[GivenTask, ...] = ()


class Turn(Protocol):
    """A piece of work for an agent, with the tools for the work."""

    @property
    def id(self) -> TurnId:
        """The same when the turn runs again after a crash; a re-run turn repeats no tool effect."""
        ...

    @property
    def again(self) -> bool:
        """Whether the turn runs again after a crash: an earlier process may have made some of the calls."""
        ...

    @property
    def agent(self) -> str: ...

    @property
    def session_key(self) -> str: ...

    @property
    def session_id(self) -> str: ...

    @property
    def work(self) -> WorkKind: ...

    @property
    def text(self) -> str:
        """The message of the peer, the result of the hand, or the text of the wake-up."""
        ...

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the message beside the person's own words; `text` names each of them in words."""
        ...

    @property
    def peer(self) -> Peer:
        """The author of `text`; a hand is ``hand:<id>``."""
        ...

    @property
    def asked_by(self) -> Peer | None:
        """The person for whom the turn is done: the author of the message, or who asked for what was delegated."""
        ...

    @property
    def origin(self) -> Origin | None:
        """The origin of the delegation, of a callback and of a task delegated by another agent."""
        ...

    @property
    def place(self) -> Address | None:
        """The place of `text`; None for a wake-up."""
        ...

    @property
    def callback(self) -> CallbackFacts | None: ...

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The system prompts of this turn: the agent's, the channel's, and in a callback turn the callback's.

        They are composed from the configuration when the turn starts, and stored nowhere.
        """
        ...

    @property
    def prompt(self) -> str | None:
        """The system prompts as a single text, separated by blank lines; None if there are none."""
        ...

    @property
    def for_model(self) -> str:
        """The message of this turn for a model.

        It is `text`; the outcome of a delegation is marked as data of its hand, behind a fence that it cannot contain.
        """
        ...

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
        """Queue a message, which is durable on return. The default target is the turn's place.

        A text `to` is a target of `channel`, such as ``user:U1``; see `core.channels`. By default the channel is the
        turn's own, else the only served channel, and the account that which the route rules give the agent there,
        else that of the turn, else the channel's default. `session` is the key of the session that records it; the
        default is that of the target conversation. `media`: URLs or paths of files. `buttons`: rows of them.
        `silent`: without a notification.
        `dry_run`: only check, and report where it would go. Raises `UsageError` for an unusable target, account or key,
        or for what the adapter cannot send; then nothing is sent.
        """
        ...

    async def message(self, params: Mapping[str, object]) -> ActionResult:
        """Call the message tool as a model does: `action` and the parameters by their wire names.

        `message_tool` has the schema. Raises `UsageError`: `InvalidAction` for a call that cannot be carried out,
        `PolicyDenied` if the policy forbids it, or an error of `send`; then nothing is done. A question that the
        platform fails to answer raises `PlatformError`.
        """
        ...

    async def done_before(self) -> DoneBefore:
        """The calls of earlier runs of this turn, whose process died; empty in a first run.

        For agents that may call their tools in another order than before, such as models: others need not ask, because
        a call with the same number is not repeated.
        """
        ...

    def message_tool(self, form: SchemaForm = SchemaForm.OPENAI) -> dict[str, Any]:
        """The message tool for tool-calling models: the abilities of the served channels, for the turn's channel.

        Pass the arguments of the model's call to `message`, and `ActionResult.for_model` back to it.
        """
        ...

    async def history(self, last: int | None = None) -> tuple[TranscriptLine, ...]:
        """The transcript of the session so far, in order; `last`: the newest lines only.

        The line of the message that started the turn has the `ref` of `id` without its ``t-``. Later lines are messages
        that wait for turns of their own, and answers that were accepted during the turn. `by`: the author of a line.
        """
        ...

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
        """Give a task to a hand, which may be another agent, without waiting for the result; durable on return.

        Its result comes back in a callback turn of this session. `timeout`: seconds that the run may take, instead of
        those of the configuration. `label`: a name of your own for it. `reply_to`: where the answer to the result
        goes; only for a turn without a place, which needs it. A text is a target, as of `send`. `thread`: see
        `delegate`. Raises `DelegationRefused`, with the reason, before any work starts; `BindingError` if the work
        should have its own thread and the thread cannot be created.
        """
        ...

    async def delegate(self, hand: str, task: str, *, thread: bool | None = None) -> DelegationId:
        """Short form of `send_async`; returns the id of the delegation.

        If `thread_bindings.spawn_subagent_sessions` is on, the work gets its own session and a thread bound to it,
        unless `thread` is false.
        """
        ...

    async def cancel(self, delegation: str) -> bool:
        """End a delegation of this session; nothing is reported, and a later result is not used.

        Returns False if it has ended already. Raises `AnswerRefused` for a delegation that this session did not start.
        """
        ...

    async def delegations(self) -> tuple[DelegationStatus, ...]:
        """The open delegations of this session, in order of acceptance."""
        ...

    def hand_tools(self, form: SchemaForm = SchemaForm.OPENAI) -> list[dict[str, Any]]:
        """The tools for hands, for tool-calling models.

        They are `agent_send_async`, `agent_cancel`, `agent_status` and `agent_list`. Pass the name and the arguments of
        the model's call to `call_hand_tool`.
        """
        ...

    async def call_hand_tool(self, name: str, params: Mapping[str, object]) -> str:
        """Call a tool for hands as a model does; returns the text for the model.

        Raises `InvalidCall` for a call that names no tool or has unusable arguments, and what `send_async` and `cancel`
        raise; then nothing is done.
        """
        ...


class Agent(Protocol):
    """Answers messages, a turn at a time per session; different sessions run concurrently."""

    async def turn(self, turn: Turn) -> str | None:
        """Work on a turn. The returned text is the answer; None means no answer."""
        ...
