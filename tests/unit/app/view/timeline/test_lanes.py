"""Where the lanes are: threads after their parents, labels with room, a window when not all fit."""

import itertools

from tests.support.app.author import ANA, DEPLOY, OPS, Author, discord
from tests.support.app.traces import bound_completion, verdicts
from tests.support.for_each import for_each
from trunkline.app.runs.model import Run
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import LaneKind, TimelineLanes, WantedWidths, lay_out
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.world import PeerSaid

WIDTHS = (47, 51, 64, 80, 96, 110, 140, 180)


def lanes_of(run: Run) -> TimelineLanes:
    return TimelineLanes(RunView(run))


def crowd(number: int) -> Run:
    author = Author()
    rooms = [discord(str(900 + index)) for index in range(number)]
    author.world([(room, f"room-{index}", None) for index, room in enumerate(rooms)])
    for room in rooms:
        author.platform(room).record(PeerSaid(address=room, peer=ANA, message_id="1", text="hello"))
    return Run(trace=author.trace("crowd", title=""), verdicts=verdicts())


def test_threads_follow_their_parent_and_hands_follow_the_gateway():
    labels = [(lane.label, lane.child) for lane in lanes_of(bound_completion()).all]
    assert labels == [
        ("#ops", False),
        ("deploy", True),
        ("audit", True),
        ("#random", False),
        ("@bo", False),
        ("GATEWAY", False),
        ("codex", False),
    ]


def test_an_address_that_nobody_announced_has_a_lane():
    author = Author()
    stray = Address(channel="slack", account="main", kind=ChatKind.CHANNEL, conversation="C1")
    author.platform(stray).record(PeerSaid(address=stray, peer=ANA, message_id="1", text="hello"))
    lanes = lanes_of(Run(trace=author.trace("stray", title=""), verdicts=()))
    assert [lane.label for lane in lanes.all] == ["C1", "GATEWAY"]


def test_accounts_of_one_platform_are_told_apart():
    author = Author()
    day = discord("1")
    night = Address(channel="discord", account="night", kind=ChatKind.CHANNEL, conversation="1")
    author.world([(day, "ops", None), (night, "ops", None)])
    view = RunView(Run(trace=author.trace("two", title=""), verdicts=()))
    assert [lane.group for lane in TimelineLanes(view).all[:2]] == ["discord:main", "discord:night"]
    assert [view.places.full(place) for place in (day, night)] == ["discord:main/ops", "discord:night/ops"]
    # The same words as in the sentences of the invariants, and of platforms with one account.
    assert view.places.label(night) == "discord/ops"
    assert RunView(bound_completion()).places.full(OPS) == "discord/#ops"


def test_a_parent_of_a_busy_thread_is_never_idle():
    lanes = lanes_of(bound_completion(bug=False))
    assert not lanes.all[lanes.of(OPS)].idle
    assert [lane.label for lane in lanes.all if lane.idle] == ["audit", "#random"]


@for_each("width", WIDTHS)
@for_each("number", [0, 1, 3, 12])
def test_columns_never_overlap_and_stay_inside(width, number):
    for run in (bound_completion(), crowd(number)):
        layout = lay_out(lanes_of(run), width, wish=WantedWidths(20, 20))
        columns = layout.columns
        assert all(0 <= column.x < width for column in columns)
        assert all(left.x < right.x for left, right in itertools.pairwise(columns))
        places = [column for column in columns if column.lane.kind is LaneKind.PLACE]
        assert all(left.left + left.width <= right.left for left, right in itertools.pairwise(places))
        assert any(column.lane.kind is LaneKind.GATEWAY for column in columns)


def test_idle_lanes_go_before_messages_are_cut():
    lanes = lanes_of(bound_completion())
    assert lay_out(lanes, 120, wish=WantedWidths(20, 20)).idle == 0
    narrow = lay_out(lanes, 64, wish=WantedWidths(20, 20))
    assert narrow.idle == 2
    assert [column.lane.label for column in narrow.columns] == ["#ops", "deploy", "@bo", "GATEWAY", "codex"]


def test_the_window_of_lanes_holds_the_focus():
    lanes = lanes_of(crowd(20))
    layout = lay_out(lanes, 64, focus={15})
    assert 15 in [column.index for column in layout.columns]
    shown = sum(column.lane.kind is LaneKind.PLACE for column in layout.columns)
    assert layout.before + shown + layout.after == 20


def test_the_window_can_be_moved():
    lanes = lanes_of(crowd(20))
    assert lay_out(lanes, 64, first=3).before == 3
    assert lay_out(lanes, 64, first=99).after == 0


def test_the_lane_of_nowhere_is_the_gateway():
    lanes = lanes_of(bound_completion())
    assert lanes.of(None) == lanes.gateway
    assert lanes.of(discord("unknown")) == lanes.gateway
    assert lanes.hand("nobody") == lanes.gateway
    assert lanes.all[lanes.of(DEPLOY)].label == "deploy"
