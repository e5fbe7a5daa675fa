"""A fake platform as the requests to it use it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from trunkline.core.values import Address, SendRequest
from trunkline.sim.platforms.actions.hosts import ActionHost
from trunkline.sim.platforms.api.part_limits import PartLimits
from trunkline.sim.platforms.hosts import MessageNames
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.platforms.tokens import AccountTokens
from trunkline.sim.platforms.webhooks import Webhooks


class EchoedMessages(MessageNames, Protocol):
    """The messages of the gateway's webhooks, which come back to it."""

    def echo(self, request: SendRequest, room: Room, message_id: str, cause: int) -> None: ...


class ApiCalls(Protocol):
    """The API calls other than sends."""

    def call(
        self,
        what: tuple[str, ...],
        place: Address,
        token: int,
        do: Callable[[], Any],
        *,
        opens: bool = False,
        there_and_back: bool = True,
    ) -> asyncio.Future[Any]: ...


class ApiHost(ActionHost, Protocol):
    """A platform as sends, changes, questions, API calls and pushes use it."""

    tokens: AccountTokens
    webhooks: Webhooks
    part_limits: PartLimits
    misplaces: bool
    shows_names: bool

    @property
    def people(self) -> EchoedMessages: ...
    @property
    def calls(self) -> ApiCalls: ...
    def latency(self, *what: str) -> float: ...
    def open_room(self, address: Address) -> Room: ...
    def rooms_under(self, room: Room) -> list[Room]: ...
    def posted_id(self, room: Room, *what: str) -> str: ...
    def poll_id(self, message_id: str, room: Room) -> str: ...
