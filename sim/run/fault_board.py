"""Faults: armed by the script, matched by content, counted when they fire.

Most faults strike the first requests that match. Those on `mirror`, `ready` and `connect` are periods: they hold from
the moment they are armed, for their duration.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.events import Body, EventLog, Recorder
from trunkline.core.values import Address, Transport
from trunkline.sim.events.script import FaultFired
from trunkline.sim.platforms import FakePlatform
from trunkline.sim.plugins.plugin import FaultRequest, Strike
from trunkline.sim.run.reached import ReachedParts
from trunkline.sim.scenario import PlaceRef
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.scenario.model.steps import PLACES
from trunkline.sim.scenario.text_pattern import text_matches
from trunkline.sim.store.disk import Disk
from trunkline.sim.store.preloaded import damage
from trunkline.sim.store.server import StoreServer

#: a connection that goes silent: this strikes a connection, and not the account for a period
DEAD = "dead"
#: what a fault strikes from the moment it is armed, for its duration
PERIODS = ("mirror", "ready")


def where(body: Body) -> Address | None:
    """The place of an event: its address, that of its binding, the requested one, or where the turn came from."""
    found = (getattr(body, name, None) for name in PLACES)
    return next((place for place in found if isinstance(place, Address)), None)


#: faults that hold for a while
_LASTING = ("boot", "connect", "mirror", "ready", "server")
#: faults of a server that strike when they are armed
AT_ONCE = ("restart", "failover")


class ArmedFault(msgspec.Struct):
    """A fault of the script that has not run out."""

    fault: Fault
    #: matches to let pass before it strikes
    skip: int
    left: int
    #: end of a fault that is a period
    until: float
    struck: bool = False
    #: how many requests a fault of a plug-in was asked about
    asked: int = 0

    def is_over(self, now: float) -> bool:
        """Whether its time is over, whether it struck or not."""
        lasts = self.fault.on in PERIODS or (self.fault.on == "connect" and self.fault.do != DEAD)
        return lasts and now >= self.until


class FaultBoard:
    """The armed faults.

    `is_at`: whether an address is a place of the scenario. `account_of`: the channel and account of a place.
    """

    def __init__(
        self,
        is_at: Callable[[str, Address], bool],
        account_of: Callable[[str], tuple[str, str]],
        now: Callable[[], float],
        reached: ReachedParts,
        plugin: Callable[[str], Strike],
    ) -> None:
        self._reached, self._plugin = reached, plugin
        self._is_at = is_at
        self._account_of = account_of
        self._now = now
        self._armed: list[ArmedFault] = []
        #: those that were disarmed before they struck anything
        self._late: list[ArmedFault] = []
        #: whether a text in a place is about a message of the script, also in part; only attached gateways have marks
        self.is_about_question: Callable[[str, Address | None, str], bool] = lambda _question, _place, _text: False
        #: matches that faults let pass, without an event
        self.passed = 0

    @property
    def armed(self) -> tuple[ArmedFault, ...]:
        """The faults that may still strike, in the order in which they were armed."""
        return tuple(armed for armed in self._armed if armed.fault.on not in PERIODS or self._now() < armed.until)

    @property
    def unstruck(self) -> tuple[Fault, ...]:
        """The faults that were armed and have struck nothing."""
        return tuple(armed.fault for armed in self._armed if not armed.struck)

    def arm(self, fault: Fault) -> None:
        self._armed.append(ArmedFault(fault, fault.nth - 1, fault.times, self._now() + fault.for_))

    @property
    def ahead(self) -> bool:
        """Whether a fault is armed that has struck nothing yet."""
        return any(not armed.struck and not armed.is_over(self._now()) for armed in self._armed)

    def heal(self) -> None:
        self._late = [armed for armed in self._armed if not armed.struck]
        for armed in self._late:
            self._reached.disarm(armed.fault, armed.until if armed.is_over(self._now()) else self._now())
        self._armed.clear()

    def note_strike(self, armed: ArmedFault) -> None:
        """Note that a fault struck something."""
        armed.struck = True
        self._reached.note(armed.fault)

    def take_fault(
        self,
        on: str,
        *,
        address: Address | None = None,
        text: str | None = None,
        attempt: int | None = None,
        transport: Transport | None = None,
        action: Action | None = None,
        carries: Collection[str] = (),
        account: tuple[str, str] | None = None,
        do: str | None = None,
        marked: bool = False,
    ) -> Fault | None:
        """The first armed fault that matches; it counts as fired. `do`: only this kind. `marked`: of a question."""

        def fits(fault: Fault) -> bool:
            return (
                do in (None, fault.do)
                and (fault.place is None or address is None or self._is_at(fault.place, address))
                and (fault.text is None or text is None or text_matches(fault.text, text))
                and (fault.question is None or self.is_about_question(fault.question, address, text or ""))
                and (fault.question is not None or not marked)
                and fault.attempt in (None, attempt)
                and fault.transport in (None, transport)
                and fault.action in (None, action)
                and (fault.carries is None or fault.carries in carries)
                and (account is None or self.is_about(fault, account))
            )

        for armed in self._armed:
            if armed.fault.on != on or not fits(armed.fault):
                continue
            if armed.skip:
                armed.skip -= 1
                self.passed += 1
                continue
            fault = armed.fault
            if fault.plugin is not None:
                armed.asked += 1
                request = FaultRequest(on=on, text=text or "", place=address, attempt=attempt or 0, number=armed.asked)
                chosen = self._plugin(fault.plugin)(request)
                if chosen is None:
                    self.passed += 1
                    continue
                fault = fault.model_copy(update={"do": chosen[0], "for_": chosen[1]})
            self.note_strike(armed)
            armed.left -= 1
            if armed.left == 0:
                self._armed.remove(armed)
            return fault
        for armed in self._late:
            if armed.fault.on == on and fits(armed.fault):
                self._reached.note_late(armed.fault, f"{on} {text or ''}".strip()[:80], self._now())
        return None

    def during(self, on: str, account: tuple[str, str] | None = None) -> tuple[Fault, bool] | None:
        """The fault whose period holds now, for an account or for all, and whether this is its first strike."""
        for armed in self._armed:
            about = account is None or self.is_about(armed.fault, account)
            if armed.fault.on != on or armed.fault.do == DEAD or not about:
                continue
            if self._now() < armed.until:
                first = not armed.struck
                self.note_strike(armed)
                return armed.fault, first
            self._reached.disarm(armed.fault, armed.until)
            self._reached.note_late(armed.fault, on, self._now())
        return None

    def is_about(self, fault: Fault, account: tuple[str, str]) -> bool:
        """Whether a fault strikes an account, named by channel and name."""
        return fault.place is None or self._account_of(fault.place) == account


class WorldFaults(ABC):
    """The part of a world that strikes requests, pushes, accounts and the disk."""

    faults: FaultBoard
    log: EventLog
    events: Recorder
    platforms: dict[str, FakePlatform]
    disk: Disk
    #: only the wire is known of this run
    wire_side: bool = False
    reached: ReachedParts

    @abstractmethod
    def hold(self, lasts: float) -> None:
        """Keep the run from its rest while a server cannot be reached: what waits for it is nowhere recorded."""

    @abstractmethod
    def place(self, text: str) -> PlaceRef:
        """A place of the scenario."""

    @abstractmethod
    def is_at(self, place: str, address: Address) -> bool:
        """Whether an address is a place of the scenario."""

    def arm(self, fault: Fault) -> None:
        """Arm a fault; one on `queue` strikes at once, and so does the end of a server."""
        if fault.on == "queue":
            self._damage(fault)
            return
        if fault.do in AT_ONCE and isinstance(self.disk, StoreServer):
            self.reached.note(fault)
            self._strike(fault, "every session ends")
            self.disk.strike_at_once(fault.do, fault.for_)
            self.hold(fault.for_)
            return
        self.faults.arm(fault)
        if fault.on == "connect":
            for channel, platform in self.platforms.items():
                for account in platform.spec.accounts:
                    if not self.faults.is_about(fault, (channel, account)):
                        continue
                    if fault.do == DEAD:
                        platform.pushes.go_silent(account)
                    elif platform.pushes.break_connection(account):
                        self.reached.note(fault)
                        if self.wire_side:
                            # Other runs record the first refusal; a gateway may try again too late for one.
                            self._during("connect", f"{channel}:{account}", (channel, account))

    def send_fault(self, address: Address, text: str, attempt: int, transport: Transport) -> tuple[str, float] | None:
        """The fault that strikes a send, and its duration."""
        found = self.faults.take_fault("send", address=address, text=text, attempt=attempt, transport=transport)
        return self._strike(found, text)

    def act_fault(self, address: Address, action: Action, text: str, attempt: int | None) -> tuple[str, float] | None:
        """The fault that strikes a change or a question, and its duration."""
        found = self.faults.take_fault("act", address=address, text=text, attempt=attempt, action=action)
        if found is None and action is Action.EDIT:
            # People read an edit as they read a new message.
            found = self.faults.take_fault("send", address=address, text=text, attempt=attempt, marked=True)
        return self._strike(found, f"{action.value} {text}".rstrip())

    def thread_fault(self, place: Address) -> tuple[str, float] | None:
        """The fault that strikes the opening of a thread in the room of a place."""
        room = self.platforms[place.channel].room_above(place)
        above = place if room is None else room.address(place.account)
        return self._strike(self.faults.take_fault("thread", address=above), str(above))

    def push_fault(self, place: Address, text: str, said: int) -> tuple[str, float] | None:
        """The fault that strikes a person's message on its way to the gateway, and its duration. `said`: its event."""
        found = self.faults.take_fault("push", address=place, text=text)
        # Nothing else records that a message never arrives.
        return self._strike(found, text, said if found is not None and found.do == "drop" else None)

    def model_fault(self, place: Address | None, text: str, cause: int) -> Fault | None:
        """The fault that strikes a question to the model. `place`: where it was asked; `cause`: the `model.asked`."""
        found = self.faults.take_fault("model", address=place, text=text)
        if found is not None:
            self.events.record(FaultFired(fault=f"model/{found.do}", detail=text[:80]), cause)
        return found

    def silence_fault(self, channel: str, account: str) -> float | None:
        """The time for which the connection of an account stays silent before it breaks; None: it does not."""
        found = self.faults.take_fault("connect", account=(channel, account), do=DEAD)
        struck = self._strike(found, f"{channel}:{account}")
        return None if struck is None else struck[1]

    def hand_fault(self, task: str) -> tuple[str, float] | None:
        """The fault that strikes a hand, and its duration."""
        return self._strike(self.faults.take_fault("hand", text=task), task)

    def lookup_fault(self, address: Address) -> tuple[str, float] | None:
        return self._strike(self.faults.take_fault("lookup", address=address), str(address))

    def account_fault(self, on: str, channel: str, account: str) -> bool:
        """Whether the period of a fault holds for an account now; records the first strike."""
        return self._during(on, f"{channel}:{account}", (channel, account))

    def unready(self, channel: str, account: str) -> str | None:
        """Why an account is not ready now, by a fault; empty: for the usual reason. None: no fault holds."""
        found = self.faults.during("ready", (channel, account))
        if found is None:
            return None
        if found[1]:
            self._strike(found[0], f"{channel}:{account}")
        return found[0].reason or ""

    def boot_fault(self, channel: str, account: str) -> float | None:
        """The delay until a missing adapter is installed; None if it is not missing when a process starts."""
        struck = self._strike(self.faults.take_fault("boot", account=(channel, account)), f"{channel}:{account}")
        return None if struck is None else struck[1]

    def _mirror_fault(self) -> bool:
        return self._during("mirror", "transcript lines refused")

    def _during(self, on: str, detail: str, account: tuple[str, str] | None = None) -> bool:
        found = self.faults.during(on, account)
        if found is not None and found[1]:
            self._strike(found[0], detail)
        return found is not None

    def _damage(self, fault: Fault) -> None:
        def fits(address: Address, text: str) -> bool:
            here = fault.place is None or self.is_at(fault.place, address)
            return here and (fault.text is None or text_matches(fault.text, text))

        rows = damage(self.disk.open(), fits)
        if rows:
            self.reached.note(fault)
        self._strike(fault, f"{rows} rows")

    def _account_of(self, place: str) -> tuple[str, str]:
        ref = self.place(place)
        return ref.platform, ref.account

    def _strike(self, fault: Fault | None, detail: str, cause: int | None = None) -> tuple[str, float] | None:
        if fault is None:
            return None
        lasts = fault.for_ if fault.on in _LASTING else None
        detail = f"{detail} ({fault.plugin})" if fault.plugin is not None else detail
        self.events.record(FaultFired(fault=f"{fault.on}/{fault.do}", detail=detail, lasts=lasts), cause)
        return fault.way if fault.as_ is None else f"{fault.way}/{fault.as_}", fault.for_

    def _fail_commit(self) -> str | None:
        struck = self._strike(self.faults.take_fault("store", carries=self.disk.carries), "commit refused")
        return None if struck is None else struck[0]

    def _server_fault(self, do: str, process: int) -> float | None:
        """For how long a fault of the network strikes a process, or the notification to it; None: it does not."""
        found = self.faults.take_fault("server", do=do, carries=self.disk.carries)
        if found is None:
            return None
        struck = FaultFired(fault=f"server/{do}", detail="", lasts=found.for_)
        self.log.recorder("sim", process).record(struck)
        self.hold(found.for_)
        return found.for_
