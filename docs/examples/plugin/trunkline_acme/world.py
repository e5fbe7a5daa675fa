"""The world around a gateway: a platform that Trunkline does not know, and a fault."""

from trunkline.sim.plugins import FakePlatform, FaultRequest


class Pager(FakePlatform):
    """A pager service: short texts, no threads."""

    channel = "acme.pager"
    has_threads = False
    text_limit = 80

    def new_id(self, *what: str) -> str:
        return "-".join(("pager", *what))


def every_third(request: FaultRequest) -> tuple[str, float] | None:
    """Loses the response to every third send."""
    return ("lose-response", 0.0) if request.number % 3 == 0 else None
