"""Configurations that a script replaces, sessions that it has from before: what is read, merged and written."""

import sqlite3
import string
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.factories import direct
from tests.support.for_each import for_each
from tests.support.paths import FIXTURES
from trunkline.core.config import DmScope, GatewayConfig
from trunkline.core.store.sqlite.sql.sessions import lane_text
from trunkline.core.values import ChatKind
from trunkline.sim.scenario import ScenarioError, load_text
from trunkline.sim.scenario.config_reloads import agents_of, merged
from trunkline.sim.scenario.model.steps import ReloadStep
from trunkline.sim.scenario.model.world import PreloadedSession
from trunkline.sim.scenario.place_refs import is_session_key
from trunkline.sim.store.preloaded import write_stored

GOOD = FIXTURES / "scenarios_good" / "lighthouse.yaml"
BASE = GatewayConfig.model_validate(
    {
        "agents": [{"id": "main"}, {"id": "ops"}],
        "bindings": [{"agent": "ops", "match": {"channel": "discord"}}],
        "session": {"dmScope": "main", "identity_links": {"ana": ["discord:1"], "ben": ["discord:2"]}},
        "channels": {"discord": {"autoThread": True, "text_limit": 100}},
        "hands": {"each": {"clerk": {"deadline": "5s"}}},
    }
)


@pytest.fixture(scope="module")
def text() -> str:
    return GOOD.read_text(encoding="utf-8")


def reloaded(**part: object) -> GatewayConfig:
    return merged(BASE, ReloadStep.model_validate(part))


def test_nothing_given_is_nothing_changed() -> None:
    assert reloaded() == BASE


def test_mappings_are_merged_under_either_spelling() -> None:
    config = reloaded(session={"dm_scope": "per-peer"}, channels={"discord": {"text_limit": 50}, "slack": {}})
    assert config.session.dm_scope is DmScope.PER_PEER
    assert config.session.identity_links == BASE.session.identity_links
    assert (config.channel("discord").auto_thread, config.channel("discord").text_limit) == (True, 50)
    assert set(config.channels) == {"discord", "slack"}


def test_lists_are_replaced() -> None:
    config = reloaded(bindings=[], session={"identityLinks": {"ana": ["slack:U1"]}})
    assert config.bindings == ()
    assert config.session.identity_links == {"ana": ("slack:U1",), "ben": ("discord:2",)}


def test_what_is_taken_back_is_given_as_nothing() -> None:
    assert reloaded(channels={"discord": {"text_limit": None}}).channel("discord").text_limit is None


def test_a_part_may_name_agents_that_only_the_whole_has() -> None:
    config = reloaded(bindings=[{"agent": "ops", "match": {"channel": "slack"}}])
    assert [binding.match.channel for binding in config.bindings] == ["slack"]
    with pytest.raises(ValueError, match="no agent 'desk'"):
        reloaded(bindings=[{"agent": "desk", "match": {"channel": "slack"}}])


def test_each_reload_is_merged_over_the_one_before(text: str) -> None:
    file = load_text(text)
    first, second, third = file.reloads
    assert (first.session.dm_scope, [agent.id for agent in first.agents]) == (DmScope.PER_PEER, ["keeper"])
    assert set(first.session.identity_links) == {"mina", "otto"}
    assert (second.session, len(second.bindings)) == (first.session, 1)
    assert (third.channel("slack").auto_thread, third.channel("matrix").auto_thread) == (False, True)
    assert third.bindings == second.bindings
    assert agents_of((file.scenario.gateway, *file.reloads)) == ("keeper", "night")


def test_threads_that_open_after_a_reload_have_names(text: str) -> None:
    assert load_text(text).resolve("matrix/Hall/m4").key == "matrix:default/Hall/m4"
    with pytest.raises(ScenarioError, match="found 'matrix/Hall/m4'"):
        load_text(text.replace("matrix: {auto_thread: true}", "matrix: {auto_thread: false}"))


@for_each(
    ("named", "key"),
    [
        ("main:main", True),
        ("agent:main:slack:direct:u1", True),
        ("@ana", False),
        ("ops", False),
        ("discord/ops", False),
        ("discord:relay/ops", False),
    ],
)
def test_a_session_is_named_by_its_key_or_by_its_place(named: str, key: bool) -> None:
    assert is_session_key(named) is key


def stored(query: str, **fields: object) -> list[tuple[object, ...]]:
    """What a query finds in a store with one stored session."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        place = direct("1", channel="telegram")
        session = PreloadedSession.model_validate({"key": "main:main", "id": "old-1", **fields})
        write_stored(connection, [session], {"telegram/@ana": place}.__getitem__)
        return connection.execute(query).fetchall()


@for_each(
    ("key", "given_codec", "codec"),
    [
        ("main:main", None, "v1"),
        ("main:telegram:default:direct:1", None, "v1"),
        ("agent:main:main", None, "openclaw"),
        ("agent:main:telegram:direct:1", None, "openclaw"),
        ("main:telegram:default:dm:1", None, "openclaw"),
        ("agent:telegram:default:direct:1", "v1", "v1"),
    ],
)
def test_the_form_of_a_stored_key_is_seen(key: str, given_codec: str | None, codec: str) -> None:
    found = stored("SELECT session_key, codec FROM session_map", key=key, codec=given_codec)
    assert found == [(key, codec)]


def test_stored_lines_are_in_the_transcript_in_order() -> None:
    query = "SELECT session_id, role, text, at FROM transcript ORDER BY n"
    rows = stored(query, lines=["user: one: two", "assistant: ", "hand: three"], updated="5s")
    assert rows == [
        ("old-1", "user", "one: two", 5.0),
        ("old-1", "assistant", "", 5.0),
        ("old-1", "hand", "three", 5.0),
    ]


def test_a_stored_session_may_know_its_place() -> None:
    assert stored("SELECT * FROM session_places") == []
    known = {"place": "telegram/@ana", "agent": "ops", "updated": 3}
    [(agent, lane, key)] = stored("SELECT agent_id, lane, session_key FROM session_places", **known)
    assert (agent, lane, key) == ("ops", lane_text(direct("1", channel="telegram")), "main:main")
    [(updated, address)] = stored("SELECT updated_at, address FROM session_map", **known)
    assert (updated, ChatKind.DIRECT.value in str(address)) == (3.0, True)


@given(st.data())
def test_a_file_with_a_word_changed_loads_or_reports(text: str, data: st.DataObject) -> None:
    starts = [at for at, char in enumerate(text) if char.isalnum() and not text[at - 1].isalnum()]
    start = data.draw(st.sampled_from(starts))
    end = start + 1
    while end < len(text) and text[end] in string.ascii_letters + string.digits + "_-":
        end += 1
    word = data.draw(st.sampled_from(["", "main", "keeper", "pier", "@mina", "x", "1", "true", "null", "[]", "{a: b}"]))
    try:
        load_text(text[:start] + word + text[end:])
    except ScenarioError as error:
        problems = error.problems
    else:
        return
    assert all(problem.line >= 1 and problem.message for problem in problems)
