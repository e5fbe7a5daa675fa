"""Fake platforms: they obey their own rules and record the wire truth themselves."""

from sim.platforms.base import FakePlatform
from sim.platforms.client import FakeAdapter
from sim.platforms.discord import FakeDiscord
from sim.platforms.rooms import Room
from sim.platforms.telegram import FakeTelegram

PLATFORMS: dict[str, type[FakePlatform]] = {"discord": FakeDiscord, "telegram": FakeTelegram}

__all__ = ["PLATFORMS", "FakeAdapter", "FakeDiscord", "FakePlatform", "FakeTelegram", "Room"]
