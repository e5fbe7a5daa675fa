"""The verdict finds what is wrong, one thing at a time."""

import msgspec

from tests.kill.people import Promise
from tests.kill.platform import Accepted
from tests.kill.stored import Stored, StoredIntent, StoredLine
from tests.kill.verdict import Verdict, judge
from tests.kill.wire import SendOutcome
from tests.support.for_each import for_each

_replace = msgspec.structs.replace


class World:
    """Two messages that went as they should: an answer in two chunks, and a client's send."""

    def __init__(self) -> None:
        told = SendOutcome(key="k2", outcome="delivered")
        self.promises = [
            Promise(id="m1", conversation="ana", by="ana", texts=("one two",), question="m1?", kept=True),
            Promise(id="k2", conversation="ana", by="ana-c0", texts=("three",), kept=True, outcomes=[told]),
        ]
        self.accepted = [_seen("p1", "i1", 0, "one"), _seen("p2", "i1", 1, "two"), _seen("p3", "i2", 0, "three")]
        self.intents = [_intent(1, "i1", ("one", "two"), ("p1", "p2")), _intent(2, "i2", ("three",), ("p3",))]
        self.lines = [
            _line("user", "m1?", "in1"),
            _line("assistant", "one\ntwo", "i1"),
            _line("assistant", "three", "i2"),
        ]
        self.sound = "ok"
        self.sure = True

    def judge(self) -> Verdict:
        stored = Stored(intents=tuple(self.intents), lines=tuple(self.lines), sound=self.sound)
        return judge(promises=self.promises, accepted=self.accepted, stored=stored, sure=self.sure)


def _seen(name: str, intent: str, chunk: int, text: str) -> Accepted:
    return Accepted(id=name, conversation="ana", text=text, key=f"{intent}/{chunk}", intent=intent, chunk=chunk)


def _intent(
    n: int, name: str, chunks: tuple[str, ...], receipts: tuple[str, ...], state="delivered", kind="reply"
) -> StoredIntent:
    return StoredIntent(n=n, id=name, kind=kind, state=state, conversation="ana", chunks=chunks, receipts=receipts)


def _line(role: str, text: str, ref: str, *, partial: bool = False) -> StoredLine:
    return StoredLine(role=role, text=text, ref=ref, partial=partial)


def not_seen(world: World) -> None:
    del world.accepted[2]


def not_stored(world: World) -> None:
    del world.intents[1], world.accepted[2], world.lines[2]


def parked_for_nothing(world: World) -> None:
    world.intents[1] = _intent(2, "i2", ("three",), (), "unknown", "send")
    world.promises[1].outcomes = [SendOutcome(key="k2", outcome="failed")]
    del world.lines[2]


def not_taken_in(world: World) -> None:
    del world.lines[0]


def seen_twice(world: World) -> None:
    world.accepted.append(_seen("p4", "i2", 0, "three"))


def said_twice(world: World) -> None:
    world.accepted.append(_seen("p4", "i3", 0, "three"))
    world.intents.append(_intent(3, "i3", ("three",), ("p4",)))
    world.lines.append(_line("assistant", "three", "i3"))


def taken_in_twice(world: World) -> None:
    world.lines.append(_line("user", "m1?", "in2"))


def said_to_nobody(world: World) -> None:
    world.accepted.append(_seen("p4", "i3", 0, "four"))
    world.intents.append(_intent(3, "i3", ("four",), ("p4",)))
    world.lines.append(_line("assistant", "four", "i3"))


def seen_and_not_stored(world: World) -> None:
    world.accepted.append(_seen("p4", "i9", 0, "four"))


def another_receipt(world: World) -> None:
    world.intents[1] = _intent(2, "i2", ("three",), ("p1",))


def delivered_in_part(world: World) -> None:
    world.intents[0] = _intent(1, "i1", ("one", "two"), ("p1",))
    world.lines[1] = _line("assistant", "one", "i1", partial=True)


def told_otherwise(world: World) -> None:
    world.promises[1].outcomes = [SendOutcome(key="k2", outcome="failed")]


def broken_file(world: World) -> None:
    world.sound = "row 7 missing from index"


def chunks_swapped(world: World) -> None:
    world.accepted[:2] = world.accepted[1::-1]


def messages_swapped(world: World) -> None:
    world.accepted.insert(0, world.accepted.pop())


def between_chunks(world: World) -> None:
    world.accepted.insert(1, world.accepted.pop())


def answered_out_of_order(world: World) -> None:
    world.promises[:0] = [Promise(id="m0", conversation="ana", by="ana", texts=("three",), kept=True)]
    del world.promises[2]


def other_text(world: World) -> None:
    world.accepted[1] = _replace(world.accepted[1], text="tow")


def other_place(world: World) -> None:
    world.accepted[2] = _replace(world.accepted[2], conversation="bo")


def not_mirrored(world: World) -> None:
    del world.lines[1]


def mirrored_twice(world: World) -> None:
    world.lines.append(world.lines[1])


def mirrored_in_part(world: World) -> None:
    world.lines[1] = _line("assistant", "one", "i1", partial=True)


def mirrored_and_not_stored(world: World) -> None:
    world.lines.append(_line("assistant", "four", "i9"))


def _parked(world: World, *notices: StoredIntent, about: str = "unknown") -> None:
    """The first answer is in doubt, and these are its notices."""
    world.sure = False
    if about == "unknown":
        world.intents[0] = _intent(1, "i1", ("one", "two"), (), about)
        world.accepted[:2] = []
        world.lines[1:2] = []
    for notice in notices:
        world.intents.append(notice)
        world.lines.append(_line("assistant", "sorry", notice.id))


def _notice(about: str = "i1") -> StoredIntent:
    return _intent(9, f"{about}.notice", ("sorry",), ("p9",), kind="notice")


def no_notice(world: World) -> None:
    _parked(world)


def notice_of_nothing(world: World) -> None:
    _parked(world, _notice(), about="delivered")
    world.accepted.append(_seen("p9", "i1.notice", 0, "sorry"))


def notice_of_no_failed_turn(world: World) -> None:
    _parked(world, _notice("in7"), about="delivered")
    world.accepted.append(_seen("p9", "in7.notice", 0, "sorry"))


def notice_not_seen(world: World) -> None:
    _parked(world, _notice())


def notice_seen_three_times(world: World) -> None:
    _parked(world, _notice())
    world.accepted += [_seen(name, "i1.notice", 0, "sorry") for name in ("p9", "p8", "p7")]


@for_each(
    ("wrong", "kind"),
    [
        (no_notice, "lost"),
        (notice_not_seen, "lost"),
        (notice_of_nothing, "unexplained"),
        (notice_of_no_failed_turn, "unexplained"),
        (notice_seen_three_times, "duplicated"),
        (not_seen, "lost"),
        (not_stored, "lost"),
        (parked_for_nothing, "lost"),
        (not_taken_in, "lost"),
        (seen_twice, "duplicated"),
        (said_twice, "duplicated"),
        (taken_in_twice, "duplicated"),
        (said_to_nobody, "unexplained"),
        (seen_and_not_stored, "unexplained"),
        (another_receipt, "unexplained"),
        (delivered_in_part, "unexplained"),
        (told_otherwise, "unexplained"),
        (broken_file, "unexplained"),
        (chunks_swapped, "disordered"),
        (messages_swapped, "disordered"),
        (between_chunks, "disordered"),
        (answered_out_of_order, "disordered"),
        (other_text, "altered"),
        (other_place, "altered"),
        (not_mirrored, "misremembered"),
        (mirrored_twice, "misremembered"),
        (mirrored_in_part, "misremembered"),
        (mirrored_and_not_stored, "misremembered"),
    ],
)
def test_what_is_wrong_is_found(wrong, kind):
    world = World()
    wrong(world)
    assert getattr(world.judge(), kind)


def test_what_is_right_passes():
    verdict = World().judge()
    assert verdict.findings == []
    assert verdict.parked == []
    assert (verdict.promises, verdict.messages, verdict.chunks) == (2, 2, 3)


def test_what_is_parked_where_nobody_can_be_sure_is_no_defect():
    world = World()
    world.sure = False
    parked_for_nothing(world)
    assert world.judge().findings == []
    assert world.judge().parked == ["i2"]


def test_a_notice_of_what_is_parked_may_be_seen_twice():
    world = World()
    _parked(world, _notice())
    world.accepted += [_seen(name, "i1.notice", 0, "sorry") for name in ("p9", "p8")]
    assert world.judge().findings == []


def test_what_is_parked_may_be_seen_and_never_twice():
    world = World()
    world.sure = False
    parked_for_nothing(world)
    world.accepted.append(_seen("p4", "i2", 0, "three"))
    assert world.judge().duplicated


def test_a_promise_that_was_not_made_need_not_be_kept():
    world = World()
    world.promises.append(Promise(id="m3", conversation="ana", by="ana", texts=("five",), question="m3?"))
    assert world.judge().findings == []
