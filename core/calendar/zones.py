"""Time zones by name."""

from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

#: names that are no zones: that of the configuration, and that of the machine
USER, LOCAL = "user", "local"


@lru_cache(maxsize=64)
def zone(name: str) -> ZoneInfo:
    """An IANA time zone. Raises `ValueError` with what to write."""
    try:
        return ZoneInfo(name.strip())
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{name!r} is no time zone: write an IANA name such as Europe/Zurich") from None


class Zones(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The zones behind the names ``user`` and ``local``."""

    user: str = LOCAL
    #: the machine's own
    local: str = "UTC"

    def of(self, name: str) -> ZoneInfo:
        """The zone of a name. An invalid name counts as ``user``, as upstream."""
        named = name.strip()
        for candidate in (self.user if named == USER else named, self.user, self.local):
            try:
                return zone(self.local if candidate == LOCAL else candidate)
            except ValueError:
                continue
        return zone("UTC")
