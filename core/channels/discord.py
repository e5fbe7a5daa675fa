"""Discord: a thread is a channel of its own whose parent is the channel it hangs under.

A thread's id scopes its session by itself, so keys have no thread suffix (seed 000, "Discord ... useSuffix=false").
A thread started on a message takes that message's id, and a message can start only one thread: opening is idempotent.
"""

from __future__ import annotations

from core.channels.base import ChannelRules
from core.values import Capabilities, Idempotency


class Discord(ChannelRules):
    """The rules of Discord."""

    channel = "discord"
    case_sensitive = False
    thread_id_is_message_id = True
    thread_is_conversation = True
    capabilities = Capabilities(idempotency=Idempotency.KEY, text_limit=2000, opens_threads=True)


RULES = Discord()
