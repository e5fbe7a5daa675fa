"""Which session a conversation resolves to at the cursor, and why."""

import pytest

from tests.support.app.author import AUDIT, DEPLOY, DM, IDLE, KEYS, OPS, RELEASE, Author
from tests.support.app.binding_views import seq_of, small, texts
from tests.support.app.bound_runs import NIGHT, bind
from trunkline.app.runs.model import Run
from trunkline.app.view.explain.resolver import answer, read_place, resolution_facts, resolve
from trunkline.app.view.index.places import title
from trunkline.app.view.index.run_index import RunView
from trunkline.core.errors import UsageError
from trunkline.core.values import Address, ChatKind

TOPIC = Address(channel="telegram", account="main", kind=ChatKind.GROUP, conversation="-100", thread="7")


def test_a_bound_conversation_resolves_to_its_session(view):
    found = resolve(view, IDLE, view.last)
    assert found.binding is not None
    assert (found.binding.id, found.session_key) == ("b5", NIGHT)
    assert answer(view, found) == f"resolve discord #random → b5 → session {NIGHT}"
    assert [(one.row.id, one.chosen) for one in found.considered][:2] == [("b5", True), ("b4", False)]


def test_the_answer_is_that_of_the_cursor(view):
    at = seq_of(view, "binding.bound", 3)
    assert [getattr(resolve(view, IDLE, seq).binding, "id", None) for seq in (at - 1, at, view.last)] == [
        None,
        "b4",
        "b5",
    ]
    assert resolve(view, IDLE, 0).considered == ()


def test_every_candidate_shows_why_it_lost(view):
    whys = {one.row.id: one.why for one in resolve(view, RELEASE, view.last).considered}
    assert whys["b1"] == "the same place, but it ended at 7.360: thread-gone"
    assert whys["b2"] == "same account, another conversation"
    assert whys["b3"] == "another platform"
    whys = {one.row.id: one.why for one in resolve(view, OPS, view.last).considered}
    assert whys["b1"] == "a thread of it: the binding covers only that thread"
    whys = {one.row.id: one.why for one in resolve(view, DM, view.last).considered}
    assert whys["b3"] == "the same place, but its deadline passed at 3.020: it does not route"
    at = seq_of(view, "binding.ending")
    whys = {one.row.id: one.why for one in resolve(view, AUDIT, at).considered}
    assert whys["b2"] == "the same place, but it is ending and takes nothing new: unbound"


def test_parents_topics_and_accounts_do_not_take_each_others_place():
    group = Address(channel="telegram", account="main", kind=ChatKind.GROUP, conversation="-100")
    other = Address(channel="telegram", account="main", kind=ChatKind.GROUP, conversation="-100", thread="8")
    night = Address(channel="telegram", account="night", kind=ChatKind.GROUP, conversation="-100", thread="7")
    view = small(
        lambda author: bind(author, "b1", group, NIGHT),
        lambda author: bind(author, "b2", other, NIGHT),
        lambda author: bind(author, "b3", night, NIGHT),
    )
    found = resolve(view, TOPIC, view.last)
    assert found.binding is None
    assert {one.row.id: one.why for one in found.considered} == {
        "b1": "its parent: a binding does not cover the threads below",
        "b2": "same conversation, another thread",
        "b3": "same platform, another account",
    }


def test_without_a_binding_it_goes_the_default_route_of_its_last_message(view):
    found = resolve(view, OPS, view.last)
    assert (found.binding, found.session_key) == (None, KEYS[OPS])
    assert found.seq == seq_of(view, "route.decided")
    assert answer(view, found) == f"resolve discord #ops → not bound → default route → session {KEYS[OPS]}"
    assert resolve(view, OPS, found.seq - 1).session_key is None


def test_a_route_by_a_binding_is_no_default_route(view):
    assert resolve(view, RELEASE, view.last).session_key is None


def test_the_answer_as_facts_names_its_event(view):
    facts = list(resolution_facts(view, resolve(view, IDLE, view.last)))
    assert facts[0].label == "answer"
    assert facts[0].seq == seq_of(view, "binding.bound", 4)
    assert [fact.text for fact in facts if "b5" in fact.text and fact.text.startswith("✓")] == [
        "✓ b5 active discord #random: same channel, account, conversation and thread"
    ]
    none = small()
    assert texts(resolution_facts(none, resolve(none, OPS, none.last)), "bindings") == ["none so far"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("#ops", OPS),
        ("ops/deploy", DEPLOY),
        ("#ops ▸ deploy", DEPLOY),
        ("#ops > deploy", DEPLOY),
        ("discord/ops/deploy", DEPLOY),
        (" DEPLOY ", DEPLOY),
        ("@bo", DM),
        ("release 41", RELEASE),
        ("discord:main/601", DEPLOY),
        ("discord:main/501/601", DEPLOY),
        ("telegram:main/77", DM),
    ],
)
def test_a_place_is_named_as_people_name_it(view, text, place):
    assert read_place(view.places, text) == place


def test_a_place_that_the_run_does_not_know_is_taken_by_its_ids(view):
    found = read_place(view.places, "Telegram:main/-100/7")
    assert found.lane == TOPIC.lane
    assert read_place(view.places, "discord:main/501/999").parent == "501"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "name a conversation"),
        ("nowhere", "no place of this run is named 'nowhere'"),
        ("dep", "there is discord/#ops/deploy"),
        ("discord:main", "no place of this run"),
        ("discord:main/1/2/3", "no place of this run"),
        (":/1", "no place of this run"),
    ],
)
def test_what_is_no_place_says_what_there_is(view, text, told):
    with pytest.raises(UsageError, match=None) as caught:
        read_place(view.places, text)
    assert told in caught.value.facts


def test_two_places_of_one_name_are_not_guessed():
    author = Author()
    again = Address(channel="telegram", account="main", kind=ChatKind.GROUP, conversation="-1")
    author.world([(OPS, "#ops", None), (again, "#ops", None)])
    view = RunView(Run(trace=author.trace("two", title=""), verdicts=()))
    with pytest.raises(UsageError) as caught:
        read_place(view.places, "ops")
    assert caught.value.facts == "2 places have this name: discord/#ops, telegram/#ops"
    assert read_place(view.places, "telegram/ops") == again


def test_a_thread_is_shown_under_its_parent(view):
    assert [title(view.places, place) for place in (OPS, RELEASE, DM)] == ["#ops", "#ops ▸ release 41", "@bo"]
