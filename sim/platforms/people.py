"""The people of a platform: they post, press buttons, react, vote, edit and delete.

A vote only changes what everybody sees. The rest reaches the gateway, as far as its platform reports it.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from trunkline.core.errors import Refused, UnknownName
from trunkline.core.values import Address, Deed, DeedKind, Envelope, Peer, SendRequest
from trunkline.sim.events.world import PeerDeleted, PeerEdited, PeerReacted, PeerSaid, PeerVoted
from trunkline.sim.platforms.actions.changes import poll_of, react, unreact, vote
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.platforms.actions.server import value_of_button
from trunkline.sim.platforms.api.api_calls import ApiHost
from trunkline.sim.platforms.api.inbound_pushes import PERSON, Posted, Pushes, Speaker
from trunkline.sim.platforms.rooms import Room, WorldPort


class PeopleHost(ApiHost, Protocol):
    deeds: frozenset[DeedKind]
    threadless: frozenset[DeedKind]
    anonymous: frozenset[DeedKind]

    @property
    def pushes(self) -> Pushes: ...


class People:
    def __init__(self, platform: PeopleHost, world: WorldPort) -> None:
        self._platform = platform
        self._world = world
        #: name -> envelope, actual place, accounts
        self._said: dict[str, tuple[Envelope, Address, tuple[str, ...]]] = {}
        self._replays: dict[str, int] = {}
        self._deeds = 0

    def said_as(self, conversation: str, message_id: str) -> str | None:
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
        a thread exists, or if the place takes no messages. The press of a button posts nothing; its text is the value.
        """
        place = room.address(room.accounts[0])
        shown = place if reply_chain is None else msgspec.structs.replace(place, thread=reply_chain)
        if reply_chain is not None and self._platform.room_at(shown) is not None:
            raise UnknownName(f"{reply_chain} is a thread of {room.name}, so it cannot be a reply chain")
        self._check_member(person, room)
        pressed = speaker.pressed
        if pressed is None:
            self._platform.threads.reopen_for_post(room, cause)
        elif room.closed is not None:
            raise UnknownName(f"{room.name} is {room.closed}: its buttons do nothing")
        body = PeerSaid(
            address=place,
            peer=person,
            message_id=message_id,
            text=text,
            secret=secret,
            bot=speaker.bot,
            echo_of=speaker.webhook if speaker.echo else None,
            stands_for=speaker.stands_for,
            pressed=pressed,
            files=tuple(part.name for part in speaker.parts),
            act=speaker.act,
        )
        seq = self._platform.events.record(body, cause, inbound=name)
        if pressed is None:
            self._platform.threads.note_root(room, message_id)
        if not speaker.echo and pressed is None:
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
            pressed=pressed,
            parts=speaker.parts,
            act=speaker.album,
        )
        self._said[name] = (envelope, place, room.accounts)
        self._push(name, room, envelope, place, seq)

    def _push(self, name: str, room: Room, envelope: Envelope, place: Address, cause: int) -> None:
        """Push a message to every account that is a member of its room, unless a fault strikes it."""
        shown, message_id = envelope.address, envelope.message_id
        for seen_at in (place, shown):
            self._world.name_message(seen_at, message_id, name)
        kind, extra = self._world.push_fault(place, envelope.text, cause) or ("", 0.0)
        for account in (account for account in room.accounts if account not in room.left and kind != "drop"):
            own = msgspec.structs.replace(envelope, address=msgspec.structs.replace(shown, account=account))
            posted = Posted(
                envelope=own, place=room.address(account), original=message_id, cause=cause, twice=kind == "duplicate"
            )
            delay = (extra if kind == "slow" else 0.0) + self._platform.latency("push", account, message_id)
            self._platform.pushes.deliver(posted, message_id + room.name, delay)

    def message(self, room: Room, of: str | None, fits: Callable[[BoardMessage], bool]) -> BoardMessage:
        """The message with a scenario's name, else the newest visible one of the room that fits.

        Raises `UnknownName` if there is none.
        """
        if of in self._said:
            said = self._platform.board.get(room, self._said[of][0].message_id)
            if said is not None and not said.deleted:
                return said
            raise UnknownName(f"{of} is not in {room.name}")
        found = [message for message in self._platform.board.within(room) if fits(message)]
        if not found:
            raise UnknownName(f"{room.name} has no such message")
        return found[-1]

    def press(self, name: str, person: Peer, roles: tuple[str, ...], message: BoardMessage, button: str) -> None:
        """Press a button, named by its text or its value: the gateway gets the value. Raises `UnknownName`."""
        value = value_of_button(message, button)
        press = self._platform.new_id("press", message.room.conversation, name)
        self.say(name, person, roles, message.room, press, value, speaker=Speaker(pressed=message.id))

    def react(self, person: Peer, message: BoardMessage, emoji: str, *, remove: bool) -> None:
        self._check_member(person, message.room)
        if remove:
            changed = unreact(message, emoji, person.id)
        else:
            changed = react(message, emoji, person.id, alone=self._platform.rules.one_reaction)
        body = PeerReacted(
            address=self._place(message),
            peer=person,
            message_id=message.id,
            emoji=emoji,
            removed=remove,
            repeated=not changed,
        )
        seq = self._platform.events.record(body)
        if changed:
            self._report(person, message, DeedKind.UNREACT if remove else DeedKind.REACT, emoji, seq)

    def vote(self, person: Peer, message: BoardMessage, options: tuple[str, ...]) -> None:
        """Vote in a poll, by the texts of the options; none withdraws the vote. Raises `UnknownName`."""
        self._check_member(person, message.room)
        try:
            there = poll_of(message).options
            before = tuple(there[number] for number in message.votes.get(person.id, ()))
            unknown = [option for option in options if option not in there]
            if unknown:
                raise Refused(f"the poll has no option {unknown[0]!r}")
            changed = vote(message, person.id, [there.index(option) for option in options], self._world.now())
        except Refused as error:
            raise UnknownName(error.facts) from None
        body = PeerVoted(
            address=self._place(message),
            peer=person,
            message_id=message.id,
            options=options,
            before=before,
            repeated=not changed,
        )
        self._platform.events.record(body)

    def edit(self, person: Peer, message: BoardMessage, text: str) -> None:
        """Edit an own message. Raises `UnknownName` for a message of somebody else."""
        self._check_author(person, message)
        body = PeerEdited(
            address=self._place(message), peer=person, message_id=message.id, text=text, before=message.text
        )
        message.text = text
        message.edits += 1
        self._report(person, message, DeedKind.EDIT, text, self._platform.events.record(body))

    def unsend(self, person: Peer, message: BoardMessage) -> None:
        """Delete an own message. Raises `UnknownName` for a message of somebody else."""
        self._check_author(person, message)
        message.deleted, message.pinned = True, False
        body = PeerDeleted(address=self._place(message), peer=person, message_id=message.id, before=message.text)
        self._report(person, message, DeedKind.DELETE, "", self._platform.events.record(body))

    def _report(self, person: Peer, message: BoardMessage, kind: DeedKind, text: str, cause: int) -> None:
        """Push the deed of a person to the gateway, as far as the platform says it."""
        if kind not in self._platform.deeds:
            return
        self._deeds += 1
        name, room, place = f"deed{self._deeds}", message.room, self._place(message)
        shown = msgspec.structs.replace(place, thread=None) if kind in self._platform.threadless else place
        envelope = Envelope(
            address=shown,
            peer=Peer(id="") if kind in self._platform.anonymous else person,
            message_id=self._platform.new_id("deed", room.conversation, name),
            text=text,
            sent_at=self._world.now(),
            guild=self._platform.spec.guild,
            deed=Deed(kind=kind, of=message.id),
        )
        self._said[name] = (envelope, place, room.accounts)
        self._push(name, room, envelope, place, cause)

    def _check_member(self, person: Peer, room: Room) -> None:
        barred = None if room.owner else self._platform.server.may_post(person.id, self._world.now())
        if barred is not None:
            raise UnknownName(f"{person.name} is {barred} and cannot post in {room.name}")

    def _check_author(self, person: Peer, message: BoardMessage) -> None:
        self._check_member(person, message.room)
        if message.author != person.id:
            raise UnknownName(f"{person.name} did not write that message")

    def _place(self, message: BoardMessage) -> Address:
        return message.room.address(message.room.accounts[0])

    def foreign_webhook(self, name: str) -> Peer:
        """A third party's webhook, by display name."""
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
                stays = self._platform.spec.stable_ids or envelope.pressed is not None or envelope.deed is not None
                again = envelope.message_id if stays else f"{envelope.message_id}-{count + 1}"
                address = msgspec.structs.replace(envelope.address, account=account)
                copy = msgspec.structs.replace(envelope, message_id=again, address=address)
                spot = msgspec.structs.replace(place, account=account)
                for named in (spot, address):
                    self._world.name_message(named, again, name)
                posted = Posted(envelope=copy, place=spot, original=envelope.message_id, cause=cause, times=1)
                delay = self._platform.latency("replay", account, again)
                self._platform.pushes.deliver(posted, again + address.conversation + "replay", delay)
