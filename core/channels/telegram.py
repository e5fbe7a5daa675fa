"""Telegram: forum topics are threads inside their group; the topic is part of the key (seed 000, "Telegram")."""

from __future__ import annotations

from core.channels.base import ChannelRules

RULES = ChannelRules(channel="telegram", case_sensitive=False, thread_word="topic")
