"""Fake platforms: they obey their own rules and record the wire truth themselves."""

from sim.platforms.base import FakePlatform
from sim.platforms.client import FakeAdapter
from sim.platforms.discord import FakeDiscord
from sim.platforms.matrix import FakeMatrix
from sim.platforms.rooms import Room
from sim.platforms.signal import FakeSignal
from sim.platforms.slack import FakeSlack
from sim.platforms.telegram import FakeTelegram
from sim.platforms.whatsapp import FakeWhatsApp

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
