"""The key table: every row works, nothing is bound twice, and nobody depends on keys that terminals swallow."""

from collections import Counter

import pytest

from tests.support.app.listed_runs import ListedRuns
from tests.support.for_each import for_each
from tests.support.paths import DOCS
from trunkline.app.tui.app import TrunklineApp, run_screen_class
from trunkline.app.tui.keys import GROUPS, KEYS, NAMES, as_markdown, bindings_of, footer_of, keys_of, show
from trunkline.app.tui.screens.picker.screen import PickerScreen
from trunkline.app.tui.state.workspace import Workspace

SCREENS = {**{name: run_screen_class(name) for name in NAMES}, "picker": PickerScreen}


def test_every_screen_of_the_table_exists():
    assert {screen for key in KEYS for screen in key.screens} == set(SCREENS)


@pytest.mark.parametrize("name", SCREENS)
def test_every_action_exists_and_every_binding_is_made(name):
    screen = SCREENS[name](Workspace(ListedRuns()))
    for key in keys_of(name):
        owner, _, method = key.action.partition("(")[0].rpartition(".")
        assert callable(getattr(TrunklineApp if owner == "app" else screen, f"action_{method}", None)), key
    assert len(bindings_of(name)) == len(list(keys_of(name)))


@pytest.mark.parametrize("name", SCREENS)
def test_no_key_is_bound_twice_on_a_screen(name):
    counted = Counter(one for key in keys_of(name) for one in key.keys)
    assert [one for one, times in counted.items() if times > 1] == []


def test_ids_are_unique_and_groups_known():
    assert len({key.id for key in KEYS}) == len(KEYS)
    assert {key.group for key in KEYS} == set(GROUPS)


@for_each("key", KEYS, ids=lambda key: key.id)
def test_keys_that_terminals_swallow_have_a_plain_twin(key):
    def swallowed(one: str) -> bool:
        return one.startswith("ctrl+") or (one[0] == "f" and one[1:].isdigit())

    assert any(not swallowed(one) for one in key.keys)


@pytest.mark.parametrize("name", SCREENS)
def test_the_footer_always_shows_help_and_the_way_out(name):
    first = {key.id for key in footer_of(name)[:8]}
    assert {"help", "quit"} <= first


def test_keys_are_shown_as_people_know_them():
    assert [show(key) for key in ("ctrl+d", "pagedown", "space", "j")] == ["^d", "PgDn", "Space", "j"]


def test_the_document_is_made_from_the_table():
    document = DOCS / "keys.md"
    assert document.read_text(encoding="utf-8") == as_markdown(), "run: python -m trunkline.app.tui.keys > docs/keys.md"
