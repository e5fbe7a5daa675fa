"""Zalo Personal: Zalo through a person's own account; people and groups have ids; no threads."""

import re
from typing import ClassVar

from trunkline.core.channels.platforms.zalo import Zalo
from trunkline.core.values import ChatKind

_MARKED = re.compile(r"([gu])-\S+", re.IGNORECASE)


class ZaloPersonal(Zalo):
    channel = "zalouser"
    prefixes = ("zlu",)
    forms = ("user:ID, u:ID or u-ID", "ID (a user)", "group:ID, g:ID or g-ID")
    words: ClassVar[dict[str, ChatKind]] = {**Zalo.words, "u": ChatKind.DIRECT, "g": ChatKind.GROUP}

    def by_form(self, id: str) -> ChatKind | None:  # noqa: A002 -- the word
        """``g-...`` is a group and ``u-...`` a user; the prefix is part of the id."""
        marked = _MARKED.fullmatch(id)
        return None if marked is None else ChatKind.GROUP if marked[1] in "gG" else ChatKind.DIRECT
