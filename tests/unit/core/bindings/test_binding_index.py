"""The index of bindings against a list that is searched from end to end, and what looking costs."""

import heapq
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.factories import direct, room
from trunkline.core.bindings import binding_index as module
from trunkline.core.bindings.binding_index import BindingIndex
from trunkline.core.bindings.conversation_match import place_id
from trunkline.core.records.bindings import SessionBindingRecord, TargetKind
from trunkline.core.states.binding import BindingStatus

S = BindingStatus
replace = msgspec.structs.replace


def made(name: str, place: str = "500", session: str = "main:main", **fields: Any) -> SessionBindingRecord:
    given: dict[str, Any] = {"bound_at": 0.0, "last_activity_at": 0.0, **fields}
    return SessionBindingRecord(
        binding_id=name, target_session_key=session, target_kind=TargetKind.SESSION, conversation=room(place), **given
    )


def names(records: tuple[SessionBindingRecord, ...]) -> list[str]:
    return [record.binding_id for record in records]


def test_a_binding_is_found_by_its_conversation_and_by_its_session() -> None:
    book = BindingIndex()
    for record in (one := made("b1"), made("b2", "501"), made("b3", "502", "ops:main")):
        book.add(record)
    assert book.at(room("500")) is one
    assert book.at(room("500", thread="7")) is None
    assert book.at(room("500", account="work")) is None
    assert book.at(room("500", channel="telegram")) is None
    assert names(book.of_session("main:main")) == ["b1", "b2"]
    assert names(book.of_session("nobody:main")) == []
    assert (len(book), names(tuple(book))) == (3, ["b1", "b2", "b3"])


def test_a_conversation_that_accounts_share_is_found_by_each_of_the_others() -> None:
    book = BindingIndex()
    one = made("b1")
    other = replace(made("b2"), conversation=room("500", account="work"))
    book.add(one)
    book.add(replace(made("b3"), conversation=direct("600")))
    assert book.of_other_accounts(room("500", account="work")) == (one,)
    assert book.of_other_accounts(room("500")) == ()
    assert book.of_other_accounts(room("501", account="work")) == ()
    assert book.of_other_accounts(direct("600", account="work")) == ()
    book.add(other)
    assert book.of_other_accounts(room("500", account="third")) == (one, other)
    book.add(replace(one, status=S.ENDING))
    assert book.of_other_accounts(room("500", account="third")) == (other,)
    book.move("main:main", "ops:main")
    [moved] = book.of_other_accounts(room("500"))
    assert moved.target_session_key == "ops:main"
    book.remove("b2")
    assert book.of_other_accounts(room("500")) == ()


def test_a_binding_that_is_ending_leaves_its_conversation_and_stays_in_its_session() -> None:
    book = BindingIndex()
    book.add(made("b1"))
    book.add(made("b1", status=S.ENDING))
    assert book.at(room("500")) is None
    book.add(two := made("b2"))
    # The end of the first one is no matter of who has its conversation now.
    book.add(made("b1", status=S.ENDED))
    assert book.at(room("500")) is two
    assert names(book.of_session("main:main")) == ["b2"]
    book.remove("b1")
    book.remove("b2")
    assert (len(book), book.of_session("main:main"), book.at(room("500"))) == (0, (), None)


def test_a_session_that_gets_another_key_takes_its_bindings_along() -> None:
    book = BindingIndex()
    for name, place, session in (("b1", "500", "main:old"), ("b2", "501", "main:new"), ("b3", "502", "main:old")):
        book.add(made(name, place, session))
    book.move("main:old", "main:new")
    book.move("nobody:old", "nobody:new")
    assert names(book.of_session("main:new")) == ["b2", "b1", "b3"]
    assert book.of_session("main:old") == ()
    found = book.at(room("500"))
    assert found is not None
    assert found.target_session_key == "main:new"
    book.remove("b1")
    assert names(book.of_session("main:new")) == ["b2", "b3"]


@pytest.fixture
def pops(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One item for each that was taken from a heap."""
    counted: list[int] = []

    class Counting:
        heappush = staticmethod(heapq.heappush)

        @staticmethod
        def heappop(heap: list[Any]) -> Any:
            counted.append(1)
            return heapq.heappop(heap)

    monkeypatch.setattr(module, "heapq", Counting)
    return counted


@pytest.mark.parametrize("there", [10, 10_000])
def test_what_is_due_costs_what_is_due(there: int, pops: list[int]) -> None:
    book = BindingIndex()
    for n in range(there):
        book.add(made(f"b{n}", str(n), idle_timeout=1000.0 + n))
    assert book.due(999.0) == ()
    assert len(pops) == 0
    assert names(book.due(1002.0)) == ["b0", "b1", "b2"]
    assert len(pops) == 3
    assert book.due(1002.0) == ()
    assert len(pops) == 3


def test_a_touch_costs_nothing_until_its_old_deadline_comes_up(pops: list[int]) -> None:
    book = BindingIndex()
    book.add(made("b1", idle_timeout=10.0))
    for at in range(1, 1000):
        book.add(made("b1", idle_timeout=10.0, last_activity_at=float(at)))
    assert book.next_due == 10.0
    assert book.due(10.0) == ()
    assert (len(pops), book.next_due) == (1, 1009.0)
    assert names(book.due(1009.0)) == ["b1"]
    assert (len(pops), book.next_due) == (2, None)


class Naive(RuleBasedStateMachine):
    """Whatever is done, the index answers as a list does that is searched from end to end."""

    def __init__(self) -> None:
        super().__init__()
        self.book = BindingIndex()
        self.all: dict[str, SessionBindingRecord] = {}
        self.taken: set[str] = set()
        self.now = 0.0
        self.count = 0

    def _active_at(self, place: str) -> list[SessionBindingRecord]:
        here = place_id(room(place))
        return [one for one in self.all.values() if one.status is S.ACTIVE and place_id(one.conversation) == here]

    @rule(
        place=st.sampled_from(["1", "2", "3"]),
        session=st.sampled_from(["main:main", "ops:main"]),
        idle=st.sampled_from([0.0, 3.0, 8.0]),
        age=st.sampled_from([0.0, 5.0, 20.0]),
    )
    def bind(self, place: str, session: str, idle: float, age: float) -> None:
        self.count += 1
        for had in self._active_at(place):
            self._become(replace(had, status=S.ENDED))
        times = {"bound_at": self.now, "last_activity_at": self.now, "idle_timeout": idle, "max_age": age}
        self._become(made(f"b{self.count}", place, session, **times))

    @rule(seconds=st.sampled_from([0.0, 1.0, 4.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(which=st.integers(0, 7), after=st.sampled_from([S.ENDING, S.ENDED]))
    def end(self, which: int, after: BindingStatus) -> None:
        if self.all:
            self._become(replace(list(self.all.values())[which % len(self.all)], status=after))

    @rule(which=st.integers(0, 7))
    def touch(self, which: int) -> None:
        if self.all:
            had = list(self.all.values())[which % len(self.all)]
            # The store lets what is over be over.
            if not had.expired(self.now):
                self._become(replace(had, last_activity_at=self.now))

    @rule(before=st.sampled_from(["main:main", "ops:main"]))
    def move(self, before: str) -> None:
        self.book.move(before, "dev:main")
        moved = {name: one for name, one in self.all.items() if one.target_session_key == before}
        for name, one in moved.items():
            self.all[name] = replace(one, target_session_key="dev:main")

    @rule()
    def due(self) -> None:
        over = {
            name
            for name, one in self.all.items()
            if one.status is S.ACTIVE and one.expired(self.now) and name not in self.taken
        }
        found = names(self.book.due(self.now))
        assert sorted(found) == sorted(over)
        self.taken |= set(found)

    def _become(self, record: SessionBindingRecord) -> None:
        self.book.add(record)
        if record.status is S.ENDED:
            self.all.pop(record.binding_id, None)
        else:
            self.all[record.binding_id] = record

    @invariant()
    def it_answers_as_the_list_does(self) -> None:
        assert sorted(names(tuple(self.book))) == sorted(self.all)
        assert len(self.book) == len(self.all)
        for place in ("1", "2", "3"):
            assert [self.book.at(room(place))] == (self._active_at(place) or [None])
        for session in ("main:main", "ops:main", "dev:main"):
            there = {one.binding_id for one in self.all.values() if one.target_session_key == session}
            assert set(names(self.book.of_session(session))) == there

    @invariant()
    def nothing_is_over_before_it_is_to_be_looked_at(self) -> None:
        ends = [
            one.expires_at
            for name, one in self.all.items()
            if one.status is S.ACTIVE and one.expires_at is not None and name not in self.taken
        ]
        if ends:
            assert self.book.next_due is not None
            assert self.book.next_due <= min(ends)


TestNaive = Naive.TestCase
TestNaive.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
