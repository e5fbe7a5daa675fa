"""Fake platforms, which enforce their own rules and record the wire truth."""

from trunkline.sim.platforms.adapter import FakeAdapter, PlaceAdapter, adapter_to
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.channels.discord import FakeDiscord
from trunkline.sim.platforms.channels.imessage import FakeBlueBubbles, FakeIMessage
from trunkline.sim.platforms.channels.matrix import FakeMatrix
from trunkline.sim.platforms.channels.msteams import FakeMsTeams
from trunkline.sim.platforms.channels.signal import FakeSignal
from trunkline.sim.platforms.channels.slack import FakeSlack
from trunkline.sim.platforms.channels.telegram import FakeTelegram
from trunkline.sim.platforms.channels.voice import FakeVoice
from trunkline.sim.platforms.channels.whatsapp import FakeWhatsApp
from trunkline.sim.platforms.rooms import Room

PLATFORMS: dict[str, type[FakePlatform]] = {
    platform.channel: platform
    for platform in (
        *(FakeDiscord, FakeTelegram, FakeSlack, FakeMatrix, FakeWhatsApp, FakeSignal),
        *(FakeBlueBubbles, FakeIMessage, FakeMsTeams, FakeVoice),
    )
}

__all__ = [
    "PLATFORMS",
    "FakeAdapter",
    "FakeBlueBubbles",
    "FakeDiscord",
    "FakeIMessage",
    "FakeMatrix",
    "FakeMsTeams",
    "FakePlatform",
    "FakeSignal",
    "FakeSlack",
    "FakeTelegram",
    "FakeVoice",
    "FakeWhatsApp",
    "PlaceAdapter",
    "Room",
    "adapter_to",
]
