"""Defects around calls: a text is said in another call than the one it is meant for, or written to another person."""

from collections.abc import Callable, Sequence

from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import GatewayConfig
from trunkline.core.routing.second_channel import SecondChannel, second_channel
from trunkline.core.values import Address
from trunkline.sim.bugs.base import bug, deciding
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import wrapping
from trunkline.sim.platforms import FakeAdapter
from trunkline.sim.platforms.channels.voice import VoiceCall

#: the call for a text, out of those that are going on; None: the one that it names
_Choose = Callable[[Address, Sequence[VoiceCall]], VoiceCall | None]


def _choosing(choose: _Choose) -> Callable[[Wiring], None]:
    """An installer of adapters that choose the call themselves."""

    def rewired(adapter: ChannelAdapter) -> ChannelAdapter:
        if isinstance(adapter, FakeAdapter):
            adapter.choose_call = choose
        return adapter

    return wrapping(rewired)


@bug("voice-any-active-call", _choosing, caught_by=("V2",))
def _any(_place: Address, calls: Sequence[VoiceCall]) -> VoiceCall | None:
    """A result is said in the first call that is going on, or in the only one, with any person in it (D5)."""
    return calls[0] if calls else None


@bug("voice-result-to-newest-call", _choosing, caught_by=("V2",))
def _newest(place: Address, calls: Sequence[VoiceCall]) -> VoiceCall | None:
    """A result is said in the newest call with the same number, although it was asked for in another one."""
    mine = [call for call in calls if call.room.conversation == place.conversation]
    return mine[-1] if mine else None


@bug("second-channel-of-anybody", deciding("second_channel"), caught_by=("V2",))
def _first_link(place: Address, config: GatewayConfig) -> SecondChannel | None:
    """What could not be said any more goes to the first person who is linked on the second channel."""
    found = second_channel(place, config)
    if found is None or found.target is not None:
        return found
    prefix = f"{found.channel}:"
    entries = (entry for ids in config.session.identity_links.values() for entry in ids if entry.startswith(prefix))
    first = next(entries, None)
    return found if first is None else SecondChannel(channel=found.channel, target=first.removeprefix(prefix))
