"""The bench of the adapter kit over the real adapter and a real homeserver."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import anyio.to_thread
import msgspec

from tests.support.synapse.homeserver import MatrixUser, Synapse
from tests.support.synapse.proxy import SynapseProxy, answered, break_after, delayed, lose_response
from tests.support.wire.bench import MemoryCursors
from trunkline.core.adapters.matrix.adapter import MatrixAdapter
from trunkline.core.adapters.matrix.config import MatrixConfig
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.channels import ChannelAdapter
from trunkline.core.env import system_env
from trunkline.core.errors import PlatformError
from trunkline.core.events import EventLog
from trunkline.core.testing.adapter_kit import Bench, SeenMessage
from trunkline.core.values import Address, ChatKind, Poll, Receipt, SendRequest

_POLL = "org.matrix.msc3381.poll.start"
_TEXT = "org.matrix.msc1767.text"


class Town(msgspec.Struct, frozen=True, kw_only=True):
    """Rooms on a homeserver, and who is in them."""

    server: Synapse
    bot: MatrixUser
    ana: MatrixUser
    rooms: tuple[str, ...]
    #: the direct room of ana and the bot
    direct: str
    #: root of a thread in the first room
    thread: str


def found_town(server: Synapse) -> Town:
    """New users, and rooms that the bot is in."""
    bot, ana = server.user("bot"), server.user("ana")
    rooms = [ana.create_room(bot, name=name) for name in ("one", "two")]
    direct = ana.create_room(bot, direct=True)
    for room in (*rooms, direct):
        bot.join(room)
    levels = ana.ask("GET", f"/rooms/{rooms[0]}/state/m.room.power_levels")
    levels["users"] = {**levels.get("users", {}), bot.id: 50}
    ana.ask("PUT", f"/rooms/{rooms[0]}/state/m.room.power_levels", levels)
    bot.ask("PUT", f"/user/{bot.id}/account_data/m.direct", {ana.id: [direct]})
    root = ana.send(rooms[0], "a thread begins here")
    return Town(server=server, bot=bot, ana=ana, rooms=tuple(rooms), direct=direct, thread=root)


def adapter_of(town: Town, url: str, cursors: MemoryCursors, events: EventLog, **options: Any) -> MatrixAdapter:
    """The adapter of the bot."""
    config = {"homeserver": url, "user": town.bot.id, "token": {"env": "TOKEN"}, **options}
    host = AdapterHost(
        account="default",
        env=system_env(),
        cursors=cursors,
        events=events.recorder("gateway"),
        folder=Path(),
        environ={"TOKEN": town.bot.token},
    )
    return MatrixAdapter(MatrixConfig.model_validate(config), host)


class SynapseBench(Bench):
    """A homeserver that remembers everything, so a new bench looks at what was said since."""

    shows = ("media", "poll", "reactions", "pinned", "deleted")

    def __init__(self, town: Town, proxy: SynapseProxy, stack: AsyncExitStack, file: Path) -> None:
        self._town = town
        self._proxy = proxy
        self._stack = stack
        self._cursors = MemoryCursors()
        self._since = town.bot.ask("GET", "/sync?timeout=0")["next_batch"]
        self.events = EventLog(system_env().now)
        place = partial(Address, channel="matrix", account="default")
        one, two = (place(kind=ChatKind.CHANNEL, conversation=room) for room in town.rooms)
        direct = place(kind=ChatKind.DIRECT, conversation=town.ana.id)
        self.places = (one, direct, two)
        self.thread = place(kind=ChatKind.CHANNEL, conversation=town.rooms[0], thread=town.thread)
        self.nowhere = (
            place(kind=ChatKind.CHANNEL, conversation="!nowhere:localhost"),
            place(kind=ChatKind.DIRECT, conversation="@nobody:localhost"),
            place(kind=ChatKind.CHANNEL, conversation=town.rooms[0], thread="$nothing"),
        )
        self._folder = file.parent
        self.media = (file.name,)

    async def open(self) -> None:
        """A new adapter, and its life."""
        settings = {"poll_seconds": 2, "request_timeout": 3, "files": str(self._folder)}
        made = adapter_of(self._town, self._proxy.url, self._cursors, self.events, **settings)
        await self._stack.enter_async_context(made.running())
        self.adapter = _Reopening(made, self._proxy)  # type: ignore[assignment]

    async def restart(self) -> ChannelAdapter:
        await self.open()
        return self.adapter

    # ------------------------------------------------------------ what is there

    async def accepted(self) -> Sequence[SeenMessage]:
        return await anyio.to_thread.run_sync(self._accepted)

    def _accepted(self) -> list[SeenMessage]:
        found: list[SeenMessage] = []
        for room in (*self._town.rooms, self._town.direct):
            events = self._town.bot.events(room, self._since)
            status, pins = self._state(room, "m.room.pinned_events")
            pinned = pins.get("pinned", []) if status else []
            found += [seen for one in events if (seen := self._seen(room, one, events, pinned)) is not None]
        return found

    def _state(self, room: str, kind: str) -> tuple[bool, Any]:
        for one in self._town.bot.ask("GET", f"/rooms/{room}/state"):
            if one["type"] == kind:
                return True, one["content"]
        return False, {}

    def _seen(self, room: str, event: Any, events: list[Any], pinned: list[str]) -> SeenMessage | None:
        content, relation = event["content"], event["content"].get("m.relates_to", {})
        mine = event["sender"] == self._town.bot.id and event["type"] in ("m.room.message", _POLL)
        if not mine or not content or relation.get("rel_type") == "m.replace":
            return None
        about = [one for one in events if one["content"].get("m.relates_to", {}).get("event_id") == event["event_id"]]
        edits = [one["content"]["m.new_content"]["body"] for one in about if "m.new_content" in one["content"]]
        direct = room == self._town.direct
        text = "" if content.get("body") == content.get("filename") else content["body"]
        return SeenMessage(
            address=Address(
                channel="matrix",
                account="default",
                kind=ChatKind.DIRECT if direct else ChatKind.CHANNEL,
                conversation=self._town.ana.id if direct else room,
                thread=relation.get("event_id") if relation.get("rel_type") == "m.thread" else None,
            ),
            text=edits[-1] if edits else text,
            key=event["unsigned"].get("transaction_id"),
            provider_id=event["event_id"],
            media=(self._file(content["url"]),) if "url" in content else (),
            poll=_poll(content),
            reactions=tuple(one["content"]["m.relates_to"]["key"] for one in about if one["type"] == "m.reaction"),
            pinned=event["event_id"] in pinned,
        )

    def _file(self, address: str) -> str:
        url = f"{self._town.server.url}/_matrix/client/v1/media/download/{address.removeprefix('mxc://')}"
        with urlopen(Request(url, headers={"Authorization": f"Bearer {self._town.bot.token}"})) as found:
            same = found.read() == (self._folder / self.media[0]).read_bytes()
        return self.media[0] if same else address

    async def requests(self) -> int:
        return self._proxy.sends

    # ------------------------------------------------------------ provocations

    async def lose_response(self) -> None:
        self._proxy.strike(lose_response)

    async def delay_response(self, seconds: float) -> None:
        self._proxy.strike(delayed(seconds))

    async def reset_connection(self) -> None:
        self._proxy.strike(break_after)

    async def refuse_connection(self) -> None:
        await self._proxy.close()

    async def rate_limit(self, seconds: float) -> None:
        body = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": round(seconds * 1000)}
        self._proxy.strike(answered(429, body))

    async def refuse(self) -> None:
        self._proxy.strike(answered(403, {"errcode": "M_FORBIDDEN", "error": "no power"}))

    async def say(self, place: Address, text: str) -> None:
        room = self._town.direct if place.kind is ChatKind.DIRECT else place.conversation
        await anyio.to_thread.run_sync(partial(self._town.ana.send, room, text, thread=place.thread))

    async def break_stream(self) -> None:
        self._proxy.break_sync()


class _Reopening:
    """Opens the socket again after a send, so that a refused connection strikes one send."""

    def __init__(self, adapter: MatrixAdapter, proxy: SynapseProxy) -> None:
        self._adapter = adapter
        self._proxy = proxy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self._adapter.send(request)
        except PlatformError:
            await self._proxy.open()
            raise


def _poll(content: Any) -> Poll | None:
    if _POLL not in content:
        return None
    start = content[_POLL]
    options = tuple(one[_TEXT] for one in start["answers"])
    return Poll(question=start["question"][_TEXT], options=options, max_selections=start["max_selections"])


@asynccontextmanager
async def synapse_bench(town: Town, file: Path) -> AsyncGenerator[SynapseBench]:
    """A new adapter of the town's bot."""
    proxy = SynapseProxy(town.server.url)
    await proxy.open()
    try:
        async with AsyncExitStack() as stack:
            bench = SynapseBench(town, proxy, stack, file)
            await bench.open()
            yield bench
    finally:
        await proxy.close()
