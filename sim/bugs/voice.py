"""Defects of adapters for calls: they say a text in a call that is going on, instead of the one it is meant for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trunkline.core.channels import ChannelAdapter
from trunkline.core.values import Address
from trunkline.sim.bugs.base import bug
from trunkline.sim.bugs.wrappers import wrapping
from trunkline.sim.platforms import FakeAdapter
from trunkline.sim.platforms.calls.call import Call
from trunkline.sim.run.wiring import Wiring

#: the call for a text, out of those that are going on; None: the one that it names
_Choose = Callable[[Address, Sequence[Call]], Call | None]


def _choosing(choose: _Choose) -> Callable[[Wiring], None]:
    """An installer of adapters that choose the call themselves."""

    def rewired(adapter: ChannelAdapter) -> ChannelAdapter:
        if isinstance(adapter, FakeAdapter):
            adapter.choose_call = choose
        return adapter

    return wrapping(rewired)


@bug("voice-any-active-call", _choosing, caught_by=("V2",))
def _any(_place: Address, calls: Sequence[Call]) -> Call | None:
    """A result is said in the first call that is going on, or in the only one, with any person in it (D5)."""
    return calls[0] if calls else None


@bug("voice-result-to-newest-call", _choosing, caught_by=("V2",))
def _newest(place: Address, calls: Sequence[Call]) -> Call | None:
    """A result is said in the newest call with the same number, although it was asked for in another one."""
    mine = [call for call in calls if call.room.conversation == place.conversation]
    return mine[-1] if mine else None
