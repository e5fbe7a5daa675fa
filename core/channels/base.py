"""What differs between platforms in keys and threads, as values."""

from __future__ import annotations

import msgspec


class ChannelRules(msgspec.Struct, frozen=True, kw_only=True):
    """How one platform's ids become session keys and how its threads are named."""

    channel: str
    #: ids that differ only in case are different conversations
    case_sensitive: bool = True
    #: word for a thread in a key: ``thread`` or ``topic``
    thread_word: str = "thread"
    #: a thread opened on a message has the message's id, so its address is known before it exists
    thread_id_is_message_id: bool = False
