"""Defects of callback turns: without sender, prompt or boundary, with a result that nobody can read, or for others."""

from collections.abc import Callable
from typing import Any

import msgspec

from trunkline.core.agent import Turn
from trunkline.core.config import GatewayConfig
from trunkline.core.events import Body, hands
from trunkline.core.hands.callback_message import callback_message
from trunkline.core.prompts import Prompt, PromptKind, PromptQuestion, compose_prompts
from trunkline.core.states.delegation import CallbackState
from trunkline.core.store.commands import Admit
from trunkline.core.store.delegations import FinishDelegation
from trunkline.core.values import Peer, TranscriptLine, WorkKind
from trunkline.sim.bugs.base import Installer, bug, changing_write, deciding
from trunkline.sim.bugs.turn_wrappers import TurnWrapper, each_turn, fields, work_of
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import changing_events

#: characters of a result that is passed on as it is
_INLINE = 200


@bug("callback-without-prompt", deciding("compose_prompts"), caught_by=("C2",))
def _without_prompt(question: PromptQuestion, config: GatewayConfig) -> tuple[Prompt, ...]:
    """The bridge ignores the prompt of a turn, so the agent takes a result for an ordinary message."""
    return compose_prompts(msgspec.structs.replace(question, callback=False), config)


@bug("callback-prompt-replaces", deciding("compose_prompts"), caught_by=("C2",))
def _prompt_replaces(question: PromptQuestion, config: GatewayConfig) -> tuple[Prompt, ...]:
    """The prompt of a callback stands before those of the agent and the channel instead of after them."""
    return tuple(sorted(compose_prompts(question, config), key=lambda prompt: prompt.kind is not PromptKind.CALLBACK))


@bug("callback-prompt-is-kept", caught_by=("C2",))
def _install_kept_prompt(wiring: Wiring) -> None:
    """The prompt of a callback stays with its agent, so the next message is presented as a result too."""
    kept: dict[str, Prompt] = {}

    def compose(question: PromptQuestion, config: GatewayConfig) -> tuple[Prompt, ...]:
        prompts = compose_prompts(question, config)
        if question.callback:
            kept[question.agent] = prompts[-1]
            return prompts
        left = kept.pop(question.agent, None)
        return prompts if left is None else (*prompts, left)

    wiring.replace(compose_prompts=compose)


def _of_callbacks(change: Callable[[Turn], Any]) -> Callable[[Turn], Any]:
    return lambda turn: turn if turn.callback is None else change(turn)


@bug("callback-without-sender", lambda change: each_turn(_of_callbacks(change)), caught_by=("C2",))
def _without_sender(turn: Turn) -> Any:
    """A result comes from the person who asked, as if they had written it."""
    return fields(turn, peer=turn.asked_by or Peer(id=""))


@bug("result-as-user-text", lambda change: each_turn(_of_callbacks(change)), reports=("004-D06",), caught_by=("C2",))
def _as_user_text(turn: Turn) -> Any:
    """The raw output of a hand is a message of a user for the model, so instructions in it are obeyed."""
    return fields(turn, for_model=turn.text)


@bug("dangling-handle", lambda change: each_turn(_of_callbacks(change)), reports=("004-D12",), caught_by=("C8",))
def _dangling(turn: Turn) -> Any:
    """A long result is replaced by a reference to a place that its reader cannot open."""
    done = turn.callback
    if done is None or len(turn.text) <= _INLINE:
        return turn
    text = f"artifact://results/{done.delegation} ({len(turn.text)} characters)"
    return fields(turn, text=text, for_model=callback_message(hand=done.hand, outcome=done.outcome, text=text))


@bug("retry-without-sender", changing_write(FinishDelegation), reports=("004-D15",), caught_by=("C2",))
def _stored_without_sender(command: FinishDelegation) -> FinishDelegation:
    """Only the first run of a callback turn has its sender: a second one, after a crash, gets the text alone."""
    if command.callback is None:
        return command
    work = msgspec.structs.replace(command.callback.work, peer=Peer(id="user", name="user"))
    return msgspec.structs.replace(command, callback=msgspec.structs.replace(command.callback, work=work))


@bug("asked-by-last-speaker", caught_by=("C2",))
def _install_last_speaker(wiring: Wiring) -> None:
    """A group is one person: a result is presented to the last person who spoke there."""
    last: dict[str, Peer | None] = {}

    def wrap(turn: Turn) -> Any:
        if turn.callback is None:
            last[turn.session_id] = turn.asked_by
            return turn
        return fields(turn, asked_by=last.get(turn.session_id))

    each_turn(wrap)(wiring)


@bug("hand-sender-not-escaped", each_turn, caught_by=("C7",))
def _not_escaped(turn: Turn) -> Any:
    """A person who is called `hand:clerk` is shown to agents like that hand."""
    return turn if turn.work is not WorkKind.MESSAGE else fields(turn, peer=work_of(turn).peer)


@bug("results-shared-by-agent", reports=("004-D13",), caught_by=("C1",))
def _install_shared_results(wiring: Wiring) -> None:
    """Finished results are put into the next turn of their agent, with any other person."""
    finished: dict[str, str] = {}

    def wrap(turn: Turn) -> Any:
        done = turn.callback
        if done is not None:
            finished[turn.agent] = f"{done.hand} is done: {turn.text}"
            return turn
        news = finished.pop(turn.agent, None)
        return turn if news is None else fields(turn, text=f"{turn.text} ({news})")

    each_turn(wrap)(wiring)


class _RemembersForAll(TurnWrapper):
    """A turn whose history has lines of all sessions of its agent."""

    shared: tuple[TranscriptLine, ...] = ()

    async def history(self, last: int | None = None) -> tuple[TranscriptLine, ...]:
        return (*await self.inner.history(last), *self.shared)


def _sharing_history(is_shared: Callable[[Turn], bool]) -> Installer:
    """Remember the texts of some turns by agent."""

    def install(wiring: Wiring) -> None:
        lines: dict[str, tuple[TranscriptLine, ...]] = {}

        def wrap(turn: Turn) -> Any:
            known = lines.get(turn.agent, ())
            if is_shared(turn):
                line = TranscriptLine(role="hand", text=turn.text, ref=turn.id, partial=False, at=0.0)
                lines[turn.agent] = (*known, line)
            return type("_Remembering", (_RemembersForAll,), {"shared": known})(turn)

        each_turn(wrap)(wiring)

    return install


@bug("history-has-all-results", _sharing_history, caught_by=("C1",))
def _is_result(turn: Turn) -> bool:
    """Results are remembered by agent, so the history of any of its sessions has those of all."""
    return turn.callback is not None


@bug("history-has-all-messages", _sharing_history, caught_by=("P1",))
def _is_message(turn: Turn) -> bool:
    """Messages of people are remembered by agent, so the history of any of its sessions has those of all."""
    return turn.callback is None


@bug("suppressed-without-reason", changing_events, caught_by=("C4",))
def _without_reason(body: Body) -> Body:
    """A result is not reported, and nothing says why."""
    suppressed = isinstance(body, hands.CallbackChanged) and body.state is CallbackState.SUPPRESSED
    return msgspec.structs.replace(body, reason=None) if suppressed else body


@bug("chain-without-end", caught_by=("C10",))
def _chain_without_end(wiring: Wiring) -> None:
    """Nothing counts the turns that follow from each other: results are delegated again and bots answered for ever."""
    wiring.replace(is_chain_over=lambda *_: False)
    wiring.change_write(Admit, lambda command: msgspec.structs.replace(command, chain=None))
