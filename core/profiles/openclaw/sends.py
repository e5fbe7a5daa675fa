"""How OpenClaw takes sends of clients: failures are kept under their key, and a target needs no route."""

from __future__ import annotations

import re

from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.sends.api import MEDIA, SendRules, Unroutable, distinct, media_lines


class OpenClawSends(SendRules):
    """The rules of sends."""

    keeps_failures = True

    def split_media(self, text: str, media: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The word is read in any case, and if there is one, all blank lines are removed."""
        rest, found = media_lines(text, lambda word: word.upper() == MEDIA)
        return re.sub(r"\n\s*\n", "\n", rest) if found else rest, distinct((*media, *found))

    def may_send_for(self, agent: str, owner: str) -> bool:
        """The named agent overrides that of the session, but the key stays."""
        return True

    def unroutable(self, error: TargetError, session_key: str | None) -> Unroutable:
        """The route is resolved only if no session is named."""
        fails = isinstance(error, AmbiguousTarget) and not (session_key or "").strip()
        return Unroutable.FAILED if fails else Unroutable.SENT_UNMIRRORED
