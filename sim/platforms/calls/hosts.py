"""A platform with calls as its exchange, its callers and its speech use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from trunkline.core.values import Address
from trunkline.sim.platforms.calls.call import VoiceCall
from trunkline.sim.platforms.people import PeopleHost
from trunkline.sim.platforms.rooms import Room


class OpenCalls(Protocol):
    """The calls that are going on."""

    def open_calls(self, account: str) -> list[VoiceCall]: ...
    def meant(self, place: Address) -> VoiceCall: ...
    def talk(self, room: Room, name: str, text: str, post: Callable[[Room], None]) -> None: ...


class Utterances(Protocol):
    """The utterances of the gateway."""

    def go_on(self, call: VoiceCall) -> None: ...
    def pause(self, call: VoiceCall) -> None: ...
    def cut_off(self, call: VoiceCall) -> None: ...


class CallsHost(PeopleHost, Protocol):
    """A platform as its exchange, its callers and its speech use it."""

    @property
    def exchange(self) -> OpenCalls: ...
    @property
    def speaking(self) -> Utterances: ...
