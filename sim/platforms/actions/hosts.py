"""A fake platform as changes and questions use it."""

from typing import Protocol

from trunkline.core.actions.requests import ActionRequest
from trunkline.core.values import Capabilities, ChatKind, SendRequest
from trunkline.sim.platforms.actions.message_board import MessageBoard
from trunkline.sim.platforms.actions.rules import ActionRules
from trunkline.sim.platforms.actions.server import Server
from trunkline.sim.platforms.rooms import RoomsHost
from trunkline.sim.platforms.threads import Threads


class ActionHost(RoomsHost, Protocol):
    """A platform as changes and questions use it: its messages, its members, and its rules."""

    board: MessageBoard
    server: Server
    threads: Threads
    rules: ActionRules
    capabilities: dict[str, Capabilities]
    usual_roles: dict[str, tuple[str, ...]]
    room_kind: ChatKind
    text_limit: int

    def bot_id(self, account: str) -> str: ...
    def visible(self, request: SendRequest | ActionRequest) -> str: ...
