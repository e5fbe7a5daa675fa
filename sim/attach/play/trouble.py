"""Trouble of a gateway, for which a try cannot be played to its end."""

from __future__ import annotations

from trunkline.core.errors import UsageError


class GatewayTrouble(UsageError):
    """The try broke off."""

    def __init__(self, what: str, log: tuple[str, ...] = ()) -> None:
        super().__init__("\n".join([f"{what}; the end of its log:" if log else what, *log]))
        self.what = what
        #: the last lines of the gateway's log
        self.log = log
