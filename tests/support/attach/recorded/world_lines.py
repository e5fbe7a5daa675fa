"""The lines of a recorded wire that are about the world: processes, places, and what people say."""

from collections.abc import Callable
from typing import Any

from tests.support.attach.recorded.places import ACCOUNT, RecordedPlaces, name_of
from trunkline.core.events import Body, EventLog
from trunkline.core.values import Address
from trunkline.sim.events.attach import GatewayExited, GatewayLaunched, GatewayReady
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.world import (
    PeerSaid,
    PlatformConfirmed,
    PlatformConnected,
    PlatformPushed,
    ThreadClosed,
    ThreadOpened,
    WorldPerson,
    WorldPlace,
)

Line = dict[str, Any]
#: platforms of which it was recorded when they hand a message out
_HANDS_OUT = frozenset({"telegram", "discord", "slack"})


class WorldLines:
    """Takes these lines of one recording, in order, and records their events."""

    def __init__(self, log: EventLog, places: RecordedPlaces) -> None:
        self._log = log
        self._where = places
        #: the gateway was started, and is not connected
        self.starting = False
        self._starts = 0
        self._places: set[tuple[str, str, str, str]] = set()
        self._people: set[tuple[str, str]] = set()
        #: by update, message and envelope: the event of what a person said
        self._said: dict[str, tuple[int, PeerSaid]] = {}
        self._pushed: set[int] = set()
        self._takes: dict[str, Callable[[Line], None]] = {
            "process.started": self._started,
            "process.polls": self._connected,
            "process.killed": self._killed,
            "process.stopping": self._stopping,
            "process.stopped": self._stopped,
            "process.exited": self._exited,
            "process.frozen": self._frozen,
            "process.thawed": self._thawed,
            "ws.open": self._opened,
            "ws.identify": self._online,
            "ws.resume": self._resumed,
            "peer.said": self._peer_said,
            "pushed": self._handed_out,
            "poll": self._confirmed,
            "acked": self._acknowledged,
            "dropped": self._dropped,
            "thread.opened": self._thread_opened,
            "thread.closed": self._thread_closed,
            "thread.deleted": self._thread_closed,
            "thread.gone": self._thread_closed,
            "place.gone": self._thread_closed,
        }

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of lines that have events."""
        return tuple(self._takes)

    def take(self, line: Line) -> None:
        """Record the events of a line. Raises `ValueError` and its like for one that has not what its kind needs."""
        take = self._takes.get(line["kind"])
        if take is not None:
            take(line)

    def _record(self, body: Body, cause: int | None = None, node: str = "sim") -> int:
        return self._log.recorder(node).record(body, cause)

    def _on_wire(self, line: Line, body: Body, cause: int | None = None) -> int:
        return self._record(body, cause, str(line.get("platform") or "platform"))

    # ------------------------------------------------------------ processes

    def _started(self, line: Line) -> None:
        self._starts += 1
        self.starting = True
        self._record(GatewayLaunched(number=self._starts, command=tuple(map(str, line.get("command") or ()))))

    def _connected(self, line: Line) -> None:
        self.starting = False
        self._record(GatewayReady(number=self._starts, after=float(line.get("after") or 0.0)))

    def _killed(self, line: Line) -> None:
        self._record(ProcessCrashed(why=str(line.get("why") or "killed")))

    def _stopping(self, _line: Line) -> None:
        self._record(FaultFired(fault="restart"))

    def _stopped(self, line: Line) -> None:
        self._record(ProcessStopped(why=str(line.get("why") or "SIGTERM")))

    def _exited(self, line: Line) -> None:
        self._record(GatewayExited(number=self._starts, code=int(line.get("code") or 0)))

    def _frozen(self, line: Line) -> None:
        self._record(ProcessFrozen(why=str(line.get("why") or "SIGSTOP")))

    def _thawed(self, _line: Line) -> None:
        self._record(ProcessThawed())

    def _opened(self, line: Line) -> None:
        # Slack hands out as soon as there is a connection; Discord waits until somebody says who is there.
        if line["platform"] == "slack":
            self._online(line)

    def _online(self, line: Line) -> None:
        self._on_wire(line, PlatformConnected(channel=str(line["platform"]), account=ACCOUNT))

    def _resumed(self, line: Line) -> None:
        self._online(line)
        if line.get("known"):
            # What was missed is handed out at once, without a line of its own.
            for seq, said in {seq: said for seq, said in self._said.values() if seq not in self._pushed}.items():
                if said.address.channel == line["platform"]:
                    self._hand_out(line, seq, said)

    # ------------------------------------------------------------ what people say

    def _place(self, line: Line, address: Address) -> None:
        if address.lane in self._places:
            return
        above = None
        room = address.conversation if address.thread else address.parent
        if room:
            parent = self._where.address(address.channel, room)
            self._place(line, parent)
            above = name_of(parent)
        self._places.add(address.lane)
        self._on_wire(line, WorldPlace(address=address, name=name_of(address), under=above))

    def _peer_said(self, line: Line) -> None:
        platform = str(line["platform"])
        address = self._where.address(platform, line.get("chat"), line.get("thread"))
        self._place(line, address)
        peer = self._where.person(address)
        if (platform, peer.id) not in self._people:
            self._people.add((platform, peer.id))
            self._record(WorldPerson(channel=platform, peer=peer))
        message_id = str(line["message_id"])
        body = PeerSaid(address=address, peer=peer, message_id=message_id, text=str(line.get("text") or ""))
        seq = self._on_wire(line, body)
        names = [f"message {message_id}", f"update {line.get('update_id')}"]
        number = message_id.rpartition(".")[2]
        if platform == "slack" and number.isdecimal():
            # An envelope has the number of its message.
            names.append(f"envelope env-{int(number)}")
        self._said |= dict.fromkeys(names, (seq, body))
        if platform not in _HANDS_OUT:
            pushed = PlatformPushed(address=address, message_id=message_id, original_id=message_id)
            self._on_wire(line, pushed, seq)

    def _handed_out(self, line: Line) -> None:
        if line.get("connections") == 0:
            return
        for name in _names_of(line):
            found = self._said.get(name)
            if found is not None:
                self._hand_out(line, *found)

    def _hand_out(self, line: Line, seq: int, said: PeerSaid) -> None:
        replay = seq in self._pushed
        self._pushed.add(seq)
        body = PlatformPushed(
            address=said.address, message_id=said.message_id, original_id=said.message_id, replay=replay
        )
        self._on_wire(line, body, seq)

    def _confirm(self, line: Line, names: list[str], *, dropped: bool = False) -> None:
        for name in names:
            found = self._said.get(name)
            if found is not None:
                body = PlatformConfirmed(address=found[1].address, message_id=found[1].message_id, dropped=dropped)
                self._on_wire(line, body, found[0])

    def _confirmed(self, line: Line) -> None:
        self._confirm(line, [f"update {one}" for one in line.get("confirmed") or ()])

    def _acknowledged(self, line: Line) -> None:
        self._confirm(line, _names_of(line))

    def _dropped(self, line: Line) -> None:
        self._confirm(line, _names_of(line), dropped=True)

    def _thread_opened(self, line: Line) -> None:
        address = self._where.address(str(line["platform"]), line.get("chat"), line.get("thread"))
        on = address.thread or address.conversation
        known = f"message {on}" in self._said
        self._on_wire(line, ThreadOpened(address=address, name=name_of(address), on_message=on if known else None))

    def _thread_closed(self, line: Line) -> None:
        address = self._where.address(str(line["platform"]), line.get("chat"), line.get("thread"))
        self._on_wire(line, ThreadClosed(address=address, how=str(line.get("how") or "deleted")))


def _names_of(line: Line) -> list[str]:
    """By what a line names messages of people."""
    names = [f"update {one}" for one in line.get("updates") or ()]
    if line.get("message_id") is not None:
        names.append(f"message {line['message_id']}")
    if line.get("envelope") is not None:
        names.append(f"envelope {line['envelope']}")
    return names
