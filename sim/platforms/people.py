"""What people do on a platform: they post, press buttons, react, vote, edit and delete.

A post and a press reach the gateway as inbound messages; the rest only changes what everybody sees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from trunkline.core.errors import UnknownName
from trunkline.core.values import Address, Envelope, Peer, SendRequest
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.platforms.api.inbound_pushes import PERSON, Posted, Speaker
from trunkline.sim.platforms.rooms import Room, WorldPort

if TYPE_CHECKING:
    from trunkline.sim.platforms.base import FakePlatform


class People:
    """The people of one platform."""

    def __init__(self, platform: FakePlatform, world: WorldPort) -> None:
        self._platform = platform
        self._world = world
        #: name -> envelope, actual place, accounts
        self._said: dict[str, tuple[Envelope, Address, tuple[str, ...]]] = {}
        self._replays: dict[str, int] = {}

    def said_as(self, conversation: str, message_id: str) -> str | None:
        """The scenario's name of a message."""
        for name, (said, place, _) in self._said.items():
            if said.message_id == message_id and place.conversation == conversation:
                return name
        return None

    def say(
        self,
        name: str,
        person: Peer,
        roles: tuple[str, ...],
        room: Room,
        message_id: str,
        text: str,
        *,
        secret: str = "",
        reply_chain: str | None = None,
        speaker: Speaker = PERSON,
        cause: int | None = None,
    ) -> None:
        """Post a message as a person or bot; every member account will receive it. Reopens an archived thread.

        With `reply_chain`, envelopes carry the id of a reply chain as if it were a thread. Raises `UnknownName` if such
        a thread exists, or if the place takes no messages.
        """
        place = room.address(room.accounts[0])
        shown = place if reply_chain is None else msgspec.structs.replace(place, thread=reply_chain)
        if reply_chain is not None and self._platform.room_at(shown) is not None:
            raise UnknownName(f"{reply_chain} is a thread of {room.name}, so it cannot be a reply chain")
        barred = None if room.owner else self._platform.server.may_post(person.id, self._world.now())
        if barred is not None:
            raise UnknownName(f"{person.name} is {barred} and cannot post in {room.name}")
        self._platform.threads.posted(room, cause)
        body = PeerSaid(
            address=place,
            peer=person,
            message_id=message_id,
            text=text,
            secret=secret,
            bot=speaker.bot,
            echo_of=speaker.webhook if speaker.echo else None,
            stands_for=speaker.stands_for,
        )
        seq = self._platform.events.record(body, cause, inbound=name)
        self._platform.threads.note_root(room, message_id)
        if not speaker.echo:
            now = self._world.now()
            self._platform.board.add(BoardMessage(room=room, id=message_id, author=person.id, text=text, at=now))
        envelope = Envelope(
            address=shown,
            peer=person,
            message_id=message_id,
            text=text,
            sent_at=self._world.now(),
            guild=self._platform.spec.guild,
            roles=self._platform.server.roles(person.id, roles),
            threaded=reply_chain is None,
            bot=speaker.bot,
            webhook=speaker.webhook,
            stands_for=speaker.stands_for,
        )
        self._said[name] = (envelope, place, room.accounts)
        for named in (place, shown):
            self._world.name_message(named, message_id, name)
        late = self._world.push_fault(place, text)
        for account in (account for account in room.accounts if account not in room.left):
            own = msgspec.structs.replace(envelope, address=msgspec.structs.replace(shown, account=account))
            posted = Posted(envelope=own, place=room.address(account), original=message_id, cause=seq)
            delay = late + self._platform.latency("push", account, message_id)
            self._platform.pushes.deliver(posted, message_id + room.name, delay)

    def foreign_webhook(self, name: str) -> Peer:
        """A third party's webhook, by its display name."""
        return Peer(id=self._platform.new_id("webhook", name), name=name)

    def echo(self, request: SendRequest, room: Room, message_id: str, cause: int) -> None:
        """Push a message of the gateway's webhook back to the gateway, if the platform `echoes`."""
        identity = request.identity
        if identity is None or not self._platform.spec.echoes:
            return
        self.say(
            f"echo-{request.key}.{request.attempt}",
            Peer(id=identity.id, name=identity.name),
            (),
            room,
            message_id,
            request.text,
            speaker=Speaker(bot=True, webhook=identity.id, echo=True),
            cause=cause,
        )

    def replay(self, names: tuple[str, ...], cause: int | None) -> None:
        """Redeliver acknowledged messages after a connection reset, under new ids unless ids are stable."""
        for name in names or tuple(self._said):
            if name not in self._said:
                continue
            envelope, place, accounts = self._said[name]
            self._replays[name] = count = self._replays.get(name, 0) + 1
            for account in accounts:
                again = envelope.message_id if self._platform.spec.stable_ids else f"{envelope.message_id}-{count + 1}"
                address = msgspec.structs.replace(envelope.address, account=account)
                copy = msgspec.structs.replace(envelope, message_id=again, address=address)
                spot = msgspec.structs.replace(place, account=account)
                for named in (spot, address):
                    self._world.name_message(named, again, name)
                posted = Posted(envelope=copy, place=spot, original=envelope.message_id, cause=cause, times=1)
                delay = self._platform.latency("replay", account, again)
                self._platform.pushes.deliver(posted, again + address.conversation + "replay", delay)
