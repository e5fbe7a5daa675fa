"""A call: its state, the utterance that is being said, and those that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trunkline.core.channels.voice import Speech
from trunkline.core.values import Address, Peer, SendRequest
from trunkline.sim.platforms.rooms import Room

#: chooses the call for the sound of a text at a place out of those that are going on; None: the one that it names
ChooseCall = Callable[[Address, Sequence["VoiceCall"]], "VoiceCall | None"]


class CallState(StrEnum):
    """The state of a call."""

    RINGING = "ringing"
    ON = "on"
    HELD = "held"
    ENDED = "ended"


@dataclass(slots=True, kw_only=True)
class Utterance:
    """An utterance of the gateway. A request that is made again under the same key is answered with the first one."""

    request: SendRequest
    speech: Speech
    token: int
    #: the requests that are answered at its end, each with the fault that strikes its answer, and how long that lasts
    asked: list[tuple[SendRequest, asyncio.Future[Any], str, float]]
    #: seconds of it that were heard before the call was held
    heard: float = 0.0
    #: when it went on; None: it waits
    since: float | None = None


@dataclass(slots=True, kw_only=True)
class VoiceCall:
    """A call. Its room is the thread of the caller's conversation."""

    room: Room
    peer: Peer
    began: float
    state: CallState = CallState.RINGING
    #: until when the caller speaks
    talks_until: float = 0.0
    #: what the caller says once it is answered: name, seconds, what posts it
    unsaid: list[tuple[str, float, Callable[[], None]]] = field(
        default_factory=list[tuple[str, float, Callable[[], None]]]
    )
    #: the caller wants to end it, and finishes a sentence first
    leaving: bool = False
    #: what the gateway says; the first is being said
    queue: list[Utterance] = field(default_factory=list[Utterance])

    @property
    def account(self) -> str:
        return self.room.accounts[0]

    @property
    def open(self) -> bool:
        """Whether something can be said in it now or later."""
        return self.state in (CallState.ON, CallState.HELD)
