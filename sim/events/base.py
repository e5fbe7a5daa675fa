"""Base classes of the bodies that only a simulated run has, by what records them."""

from typing import ClassVar

from trunkline.core.events.base import Body


class SimBody(Body, frozen=True, kw_only=True):
    """Recorded by the runner of the simulator."""

    kind: ClassVar[str] = ""
    recorded_by: ClassVar[str] = "sim"


class PlatformBody(Body, frozen=True, kw_only=True):
    """Recorded by a simulated platform, independently of what the gateway records."""

    kind: ClassVar[str] = ""
    recorded_by: ClassVar[str] = "platform"
