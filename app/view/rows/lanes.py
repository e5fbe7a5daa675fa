"""The lanes of the timeline: conversations by platform, the gateway, the model, the hands; and where each is drawn.

A thread or topic always stands directly after its parent. Labels of messages are drawn beside the gateway, so the gaps
next to it take the room that is left over.
"""

from collections.abc import Collection
from enum import Enum, StrEnum

import msgspec
from rich.cells import cell_len

from trunkline.app.text.cells import clean
from trunkline.app.view.index.places import Place, PlaceKey
from trunkline.app.view.index.run_index import GrowingView, RunView, typed
from trunkline.core.events import Body, Event, bindings, delivery, gateway
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.values import Address, ChatKind, IntentState
from trunkline.sim.events.model import ModelAsked
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import CredentialRotated, PeerSaid, ThreadClosed, ThreadOpened, WorldSession
from trunkline.sim.index.projection import Projection, on


class Look(StrEnum):
    #: an inbound message
    INBOUND = "inbound"
    #: accepted, as decided
    DELIVERED = "delivered"
    #: the first of several copies
    FIRST = "first"
    #: a later copy
    COPY = "copy"
    #: elsewhere than requested, by configuration
    FALLBACK = "fallback"
    #: at the wrong place
    MISPLACED = "misplaced"
    #: unknown whether it was accepted
    UNKNOWN = "unknown"
    #: deliberately not sent
    SUPPRESSED = "suppressed"
    #: will be tried again
    RETRY = "retry"
    #: will not be delivered
    DEAD = "dead"
    #: work given to a hand, and its result
    HAND = "hand"
    #: an event of the world or of a process
    NOTE = "note"
    #: a crash, a fault, a defect that is on
    ALARM = "alarm"
    #: inside the gateway; shown only unfolded
    INTERNAL = "internal"


#: how the arrow of a look is drawn, where it is not plain: its line, and the line where it crosses a lane
LINES = {
    Look.COPY: ("━", "┿"),
    Look.FALLBACK: ("═", "╪"),
    Look.MISPLACED: ("═", "╪"),
    Look.UNKNOWN: ("┄", "│"),
    Look.SUPPRESSED: ("┄", "│"),
    Look.DEAD: ("┄", "│"),
    Look.RETRY: ("┈", "│"),
}
PLAIN_LINE = ("─", "┼")
#: heads of what does not arrive; it stops short of the lane
STOPS = {Look.UNKNOWN: "?", Look.SUPPRESSED: "╳", Look.DEAD: "✗", Look.RETRY: "↻"}


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the timeline. `start` and `end` are lanes; equal for a note."""

    seq: int
    at: float
    look: Look
    start: int
    end: int
    text: str
    #: the author, if the lane does not show it
    who: str = ""
    tags: tuple[str, ...] = ()
    #: ``m``, ``m!`` or ``m?``, and its event
    mirror: str = ""
    mirror_seq: int = 0
    #: joins copies: ``┏ ┃ ┣ ┗``
    bracket: str = ""

    @property
    def is_note(self) -> bool:
        """Drawn at one lane only."""
        return self.start == self.end


#: cells of a lane: at least, and at most when there is room
LANE_MIN, LANE_MAX = 7, 14
#: cells of the label gap beside the gateway: at least, and at most
GAP_MIN, GAP_MAX = 24, 64
HAND_GAP_MIN, HAND_GAP_MAX = 9, 40
#: cells of a gap taken by the arrow line and its head
LABEL_EDGES = 7
#: cells to the right of the last line
TAIL = 5
#: marks a thread under its parent
CHILD = "└▸"
#: marks a thread, or any other place, that is bound to a session at the cursor
CHILD_BOUND, BOUND = "└◆", "◆"


class LaneKind(Enum):
    PLACE = "place"
    GATEWAY = "gateway"
    HAND = "hand"
    #: the model of a gateway of which only the wire is known
    MODEL = "model"


#: audiences, from one person to everybody
AUDIENCE = {ChatKind.DIRECT: "dm", ChatKind.GROUP: "group", ChatKind.CHANNEL: "public"}
#: lanes to the right of the gateway
AT_THE_RIGHT = frozenset({LaneKind.HAND, LaneKind.MODEL})


class TimelineLane(msgspec.Struct, frozen=True, kw_only=True):
    kind: LaneKind
    label: str
    #: its full name, the same in every run of a scenario: ``discord/ops/deploy``, ``hand codex``
    path: str
    #: platform of a place; ``hands`` for hands
    group: str = ""
    place: PlaceKey | None = None
    #: audience: dm, group or public
    audience: str = ""
    child: bool = False
    #: bound to a session at some time in the run
    bound: bool = False
    #: without any event
    idle: bool = False


class TokenUse(Projection):
    """The tokens of accounts, for runs in which one was rotated. An account is a channel and its name there."""

    def __init__(self) -> None:
        #: number of a token, and when the gateway got it
        self._given: dict[tuple[str, str], list[tuple[float, int]]] = {}
        #: event and time of a request, and the number of its token
        self._used: dict[tuple[str, str], list[tuple[int, float, int]]] = {}

    def on_rotated(self, event: Event, body: CredentialRotated) -> None:
        self._given.setdefault((body.channel, body.account), []).append((event.at + body.tell, body.number))

    def on_requested(self, event: Event, body: WireAccepted | WireRefused) -> None:
        if body.credential:
            used = self._used.setdefault((body.address.channel, body.address.account), [])
            used.append((event.seq, event.at, body.credential))

    def badge(self, account: tuple[str, str], seq: int, now: float) -> str:
        """``tok#2``, or ``tok#1!`` if the last request used an older one than the gateway had.

        Nothing where no token was ever changed.
        """
        if account not in self._given:
            return ""
        given_at, given = max(((at, number) for at, number in self._given[account] if at <= now), default=(0.0, 1))
        last = max((use for use in self._used.get(account, ()) if use[0] <= seq), default=None)
        if last is not None and last[1] >= given_at and last[2] < given:
            return f"tok#{last[2]}!"
        return f"tok#{given}"


class TimelineLanes(GrowingView):
    def __init__(self, view: RunView) -> None:
        self.tokens = TokenUse()
        super().__init__(view, self.tokens)
        #: places with any event
        self._used: set[PlaceKey] = set()
        self._hands: dict[str, int] = {}
        #: the model has a lane where the gateway's own steps are unknown
        self._modelled = False
        self._places: dict[PlaceKey, int] = {}
        self._shape: tuple[int, ...] = ()
        #: indexes of the lanes of the gateway and of the model; the same where the model has none
        self.gateway = self.model = 0
        self.all: tuple[TimelineLane, ...] = ()
        #: whether the places have different audiences
        self.several_audiences = False
        #: incremented when the lanes change
        self.version = 0
        self.grow()

    def on_delegated(self, _event: Event, body: DelegationAccepted) -> None:
        self._hands.setdefault(body.hand, 0)

    def on_asked(self, _event: Event, _body: ModelAsked) -> None:
        self._modelled = self.view.wire_side

    @on(PeerSaid, WireAccepted, WireRefused, ThreadClosed, ThreadOpened, delivery.IntentPrepared, bindings.BindingBound)
    def _addressed(self, _event: Event, body: Body) -> None:
        address: Address = getattr(body, "conversation" if isinstance(body, bindings.BindingBound) else "address")
        self._used.add(address.lane)

    def settle(self) -> None:
        """Lay the lanes again if there are others."""
        view = self.view
        shape = (view.places.version, len(self._used), len(view.bindings.lanes), len(self._hands), self._modelled)
        if shape != self._shape:
            self._shape = shape
            self._lay()
            self.version += 1

    def _lay(self) -> None:
        known = self.view.places
        # A parent stays beside its thread, so that a message that lands there instead is visible.
        busy = self._used | {parent for key in self._used if key in known and (parent := known.at(key).parent)}
        places = known.in_order()
        lanes = [_place_lane(self.view, place, busy) for place in places]
        self.gateway, self.model = len(lanes), len(lanes) + self._modelled
        model = (TimelineLane(kind=LaneKind.MODEL, label="model", path="model", group="model"),)
        self.all = (
            *lanes,
            TimelineLane(kind=LaneKind.GATEWAY, label="GATEWAY", path="GATEWAY"),
            *(model if self._modelled else ()),
            *(TimelineLane(kind=LaneKind.HAND, label=hand, path=f"hand {hand}", group="hands") for hand in self._hands),
        )
        self.several_audiences = len({lane.audience for lane in lanes if not lane.idle}) > 1
        self._places = {lane.place: index for index, lane in enumerate(self.all) if lane.place}
        self._hands = {hand: self.model + 1 + index for index, hand in enumerate(self._hands)}

    def of(self, address: Address | None) -> int:
        """Index of the lane of an address; the gateway's if there is none."""
        return self._places.get(address.lane, self.gateway) if address else self.gateway

    def hand(self, name: str) -> int:
        return self._hands.get(name, self.gateway)


def _place_lane(view: RunView, place: Place, busy: Collection[PlaceKey]) -> TimelineLane:
    """The lane of a place, with its account if the platform has several."""
    return TimelineLane(
        kind=LaneKind.PLACE,
        label=place.name,
        path=view.places.label(place.address),
        group=f"{place.channel}:{place.key[1]}" if view.places.several(place.channel) else place.channel,
        place=place.key,
        audience=AUDIENCE[place.address.kind],
        child=place.parent is not None and place.parent in view.places,
        bound=place.key in view.bindings.lanes,
        idle=place.key not in busy,
    )


class LaneColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A lane with the cell of its line and the cells of its label."""

    index: int
    lane: TimelineLane
    x: int
    left: int
    width: int


class LaneLayout(msgspec.Struct, frozen=True, kw_only=True):
    width: int
    columns: tuple[LaneColumn, ...]
    #: lanes left out on the left and on the right of the window, and idle ones left out everywhere
    before: int = 0
    after: int = 0
    idle: int = 0
    #: number of hidden lanes
    hidden: int = 0

    def x(self, index: int) -> int | None:
        """Cell of a lane's line, if it is visible."""
        return next((column.x for column in self.columns if column.index == index), None)


class WantedWidths(msgspec.Struct, frozen=True):
    """Cells that the widest labels of a run need, on each side of the gateway."""

    places: int
    hands: int


NO_WIDTHS = WantedWidths(0, 0)


def lay_out(
    lanes: TimelineLanes,
    width: int,
    *,
    wish: WantedWidths = NO_WIDTHS,
    first: int = 0,
    focus: Collection[int] = (),
    hidden: Collection[int] = (),
) -> LaneLayout:
    """Fit the lanes into a width. Idle lanes go first; then a window of lanes, from `first`, that holds `focus`.

    What is `hidden` is never shown.
    """
    hands = [index for index in range(lanes.gateway + 1, len(lanes.all)) if index not in hidden]
    places = [index for index in range(lanes.gateway) if index not in hidden]
    lanes_left = len(hands) + len(places)
    beside = _hand_room(hands)
    idle = 0
    wanted = max(min(wish.places + LABEL_EDGES, GAP_MAX), GAP_MIN)
    if len(places) * LANE_MIN + wanted + beside > width:
        shown = [index for index in places if not lanes.all[index].idle or index in focus]
        idle, places = len(places) - len(shown), shown
    room = max((width - GAP_MIN - beside) // LANE_MIN, 2)
    start = _window(places, room, first, focus)
    window = places[start : start + room]
    return LaneLayout(
        width=width,
        columns=tuple(_columns(lanes, window, hands, width, wish)),
        before=start,
        after=len(places) - start - len(window),
        idle=idle,
        hidden=len(lanes.all) - 1 - lanes_left,
    )


def _hand_room(hands: list[int]) -> int:
    return HAND_GAP_MIN + LANE_MIN * (len(hands) - 1) + TAIL if hands else TAIL


def _window(places: list[int], room: int, first: int, focus: Collection[int]) -> int:
    start = max(0, min(first, len(places) - room))
    wanted = [at for at, index in enumerate(places) if index in focus]
    return max(min(start, wanted[0]), wanted[-1] - room + 1) if wanted else start


def _columns(
    lanes: TimelineLanes, places: list[int], hands: list[int], width: int, wish: WantedWidths
) -> list[LaneColumn]:
    """Share out the spare width: to lane names, to message labels, then to the gaps up to their maximum."""
    widths = dict.fromkeys(places, LANE_MIN)
    gap = GAP_MIN - LANE_MIN // 2
    hand_gap = HAND_GAP_MIN if hands else 0
    spare = max(width - sum(widths.values()) - gap - _hand_room(hands), 0)
    for index in places:
        grant = min(_name_width(lanes, index, places) - LANE_MIN, spare)
        widths[index] += grant
        spare -= grant
    for most in (wish.places + LABEL_EDGES, GAP_MAX):
        grant = max(min(most - gap, spare, GAP_MAX - gap), 0)
        gap += grant
        spare -= grant
        grant = max(min(wish.hands + LABEL_EDGES - hand_gap, spare, HAND_GAP_MAX), 0) if hands else 0
        if hand_gap + grant >= wish.hands + LABEL_EDGES:
            hand_gap += grant
            spare -= grant
    return _place_columns(lanes, widths, hands, gap, hand_gap)


def _place_columns(
    lanes: TimelineLanes, widths: dict[int, int], hands: list[int], gap: int, hand_gap: int
) -> list[LaneColumn]:
    columns: list[LaneColumn] = []
    left = 0
    for index, width in widths.items():
        x = left + (width - 1) // 2
        columns.append(LaneColumn(index=index, lane=lanes.all[index], x=x, left=left, width=width))
        left += width
    x = (columns[-1].x if columns else 0) + gap
    columns.append(LaneColumn(index=lanes.gateway, lane=lanes.all[lanes.gateway], x=x, left=x - 3, width=7))
    x += hand_gap
    for index in hands:
        columns.append(LaneColumn(index=index, lane=lanes.all[index], x=x, left=x - 3, width=LANE_MIN))
        x += LANE_MIN
    return columns


def _name_width(lanes: TimelineLanes, index: int, places: list[int]) -> int:
    """Cells for the name of a lane, and for the name of its group if it is alone in it."""
    lane = lanes.all[index]
    name = cell_len(lane.label) + (len(CHILD) if lane.child else len(BOUND) if lane.bound else 0)
    if sum(lanes.all[other].group == lane.group for other in places) == 1:
        name = max(name, cell_len(lane.group))
    return max(min(name + 1, LANE_MAX), LANE_MIN)


# Builds timeline rows: arrows between two lanes and notes at one, for one run and its lanes.


class RowBuilder:
    def __init__(self, view: RunView, lanes: TimelineLanes) -> None:
        self.view = view
        self.lanes = lanes
        #: processes that had to wait for the lease
        self.stood_by: set[int] = set()

    def lane_of(self, body: Body) -> int:
        """The lane of an internal event: that of its address, else the gateway's."""
        address = getattr(body, "address", None)
        return self.lanes.of(address if isinstance(address, Address) and not isinstance(body, _INSIDE) else None)

    def arrow(
        self, event: Event, look: Look, start: int, end: int, text: str, *, who: str = "", tags: tuple[str, ...] = ()
    ) -> TimelineRow:
        """A row from one lane to another; a note, if they are the same."""
        text = clean(text)
        return TimelineRow(seq=event.seq, at=event.at, look=look, start=start, end=end, text=text, who=who, tags=tags)

    def note(
        self, event: Event, look: Look, text: str, lane: int | None = None, tags: tuple[str, ...] = ()
    ) -> TimelineRow:
        """A row at one lane, by default the gateway's."""
        at = self.lanes.gateway if lane is None else lane
        return self.arrow(event, look, at, at, text, tags=tags)

    def outbound(self, event: Event, look: Look, address: Address, text: str, *tags: str) -> TimelineRow:
        """A row from the gateway to the lane of an address."""
        return self.arrow(event, look, self.lanes.gateway, self.lanes.of(address), text, tags=tags)

    def change(self, event: Event, address: Address, text: str, *, repeated: bool) -> TimelineRow:
        """A change of a message that people see; a repeated one changes nothing."""
        if repeated:
            return self.outbound(event, Look.SUPPRESSED, address, f"{text}: so already", "sup")
        return self.outbound(event, Look.DELIVERED, address, text)

    def target(self, event: Event) -> Address | None:
        """The destination of the intent of an event."""
        body = self.view.prepared(event)
        return body.address if body is not None else None

    def accepted_look(self, event: Event) -> tuple[Look, tuple[str, ...]]:
        """Look and tags of an accepted delivery: violations decide first, then the events."""
        marks = self.view.marks
        copy = marks.copies.get(event.seq)
        misplaced = event.seq in marks.misplaced or self._was_misplaced(event)
        tags = (*((f"{copy.number}×",) if copy else ()), *(("!!",) if misplaced else ()))
        if copy and copy.number > 1:
            return Look.COPY, tags
        if misplaced:
            return Look.MISPLACED, tags
        if copy:
            return Look.FIRST, tags
        fell_back = self.view.of_intent(event.intent, delivery.Fallback, bindings.IdentityFallback)
        return (Look.FALLBACK, ("FB",)) if fell_back else (Look.DELIVERED, ())

    def _was_misplaced(self, event: Event) -> bool:
        """The platform put it elsewhere than requested, and the gateway recorded that."""
        body = event.body
        if not isinstance(body, WireAccepted) or body.address.lane == body.requested.lane:
            return False
        ends = typed(self.view.of_intent(event.intent), delivery.IntentSettled)
        return any(end.state is IntentState.MISPLACED for _, end in ends)

    def inbound_look(self, event: Event, default: Look) -> tuple[Look, tuple[str, ...]]:
        """Look and tags of an inbound message: a copy when a violation says that it was taken twice."""
        copy = self.view.marks.copies.get(event.seq)
        if copy is None:
            return default, ()
        return (Look.COPY if copy.number > 1 else Look.FIRST), (f"{copy.number}×",)


#: steps inside the gateway, although they carry an address
_INSIDE = (
    gateway.InboundReceived,
    WorldSession,
    gateway.SessionCreated,
    delivery.TargetResolved,
    delivery.IntentPrepared,
    delivery.AttemptStarted,
    delivery.ChunkAcked,
)
