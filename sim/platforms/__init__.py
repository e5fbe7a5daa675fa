"""Fake platforms, which enforce their own rules and record the wire truth."""

from trunkline.sim.platforms.adapter import FakeAdapter
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.discord import FakeDiscord
from trunkline.sim.platforms.matrix import FakeMatrix
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.platforms.signal import FakeSignal
from trunkline.sim.platforms.slack import FakeSlack
from trunkline.sim.platforms.telegram import FakeTelegram
from trunkline.sim.platforms.whatsapp import FakeWhatsApp

PLATFORMS: dict[str, type[FakePlatform]] = {
    platform.channel: platform
    for platform in (FakeDiscord, FakeTelegram, FakeSlack, FakeMatrix, FakeWhatsApp, FakeSignal)
}

__all__ = [
    "PLATFORMS",
    "FakeAdapter",
    "FakeDiscord",
    "FakeMatrix",
    "FakePlatform",
    "FakeSignal",
    "FakeSlack",
    "FakeTelegram",
    "FakeWhatsApp",
    "Room",
]
