"""Telegram: forum topics are threads inside their group; the topic is part of the key (seed 000, "Telegram")."""

from __future__ import annotations

from core.channels.base import ChannelRules
from core.values import Capabilities


class Telegram(ChannelRules):
    """The rules of Telegram."""

    channel = "telegram"
    case_sensitive = False
    thread_word = "topic"
    has_threads = True
    capabilities = Capabilities(text_limit=4096)


RULES = Telegram()
