"""Work in progress of a binding is released once, on every way out, and only by who holds it."""

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from tests.support.factories import intent, open_intents
from trunkline.core.runtime.live_bindings import LiveBindings
from trunkline.core.values import IntentId, IntentState

pytestmark = pytest.mark.anyio


def live() -> LiveBindings:
    unused: Any = SimpleNamespace()
    return LiveBindings(unused, unused, unused)


def under_way(bindings: LiveBindings) -> dict[str, int]:
    return bindings._under_way  # pyright: ignore[reportPrivateUsage]


def test_a_hold_is_released_once() -> None:
    bindings = live()
    first, second = bindings.hold("b1"), bindings.hold("b1")
    first.release(None)
    first.release(None)
    assert under_way(bindings) == {"b1": 1}
    second.release(None)
    assert under_way(bindings) == {}


async def test_a_hold_is_released_however_its_block_is_left() -> None:
    bindings = live()
    with pytest.raises(KeyError), bindings.hold("b1"):
        raise KeyError
    with anyio.move_on_after(0), bindings.hold("b1"):
        await anyio.sleep_forever()
    assert under_way(bindings) == {}


def test_what_has_no_binding_holds_nothing() -> None:
    bindings = live()
    with bindings.hold(None):
        assert under_way(bindings) == {}


async def test_an_intent_that_was_never_queued_releases_nothing_of_others() -> None:
    """A message that a hook cancelled is over before it is queued; other work of its binding goes on."""
    bindings = live()
    intents = open_intents(bindings=bindings)
    intents.enqueue(intent("queued", binding="b1"), None)
    intents.enqueue(intent("cancelled", binding="b1", state=IntentState.CANCELLED), None)
    assert under_way(bindings) == {"b1": 1}
    intents.release(IntentId("queued"), None)
    intents.release(IntentId("queued"), None)
    assert under_way(bindings) == {}


async def test_an_intent_that_an_operator_reopens_twice_is_held_once() -> None:
    bindings = live()
    intents = open_intents(bindings=bindings)
    intents.enqueue_reopened(intent("i1", binding="b1"), None)
    intents.enqueue_reopened(intent("i1", binding="b1"), None)
    intents.release(IntentId("i1"), None)
    assert under_way(bindings) == {}


async def test_open_intents_of_an_earlier_process_are_counted_at_the_start_and_released_one_by_one() -> None:
    bindings = live()
    intents = open_intents(bindings=bindings)
    bindings.hold_open("b1", 2)
    for name in ("i1", "i2"):
        intents.adopt_binding(intent(name, binding="b1"))
    intents.release(IntentId("i1"), None)
    assert under_way(bindings) == {"b1": 1}
    intents.release(IntentId("i2"), None)
    assert under_way(bindings) == {}
