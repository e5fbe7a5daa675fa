"""Unknown things of a gateway that is not ours, in words, and where what is known stands instead."""

from trunkline.app.text.cells import clean
from trunkline.app.text.fact import Fact
from trunkline.core.events import TraceHeader


def gateway_name(header: TraceHeader) -> str:
    """The gateway with its version, as the trace names it."""
    return clean(header.gateway) or "a gateway that is not ours"


def not_known(header: TraceHeader) -> str:
    """Why there is nothing to show of the gateway's inside."""
    return f"not known: only the wire of {gateway_name(header)} was recorded"


def shown_instead(what: str) -> list[Fact]:
    """The text of a screen in place of things that are inside of the gateway."""
    return [
        Fact("what", f"{what} are inside of the gateway: neither its requests nor what people see show them"),
        Fact("3", "shows each question of a person, what the model was asked, and what people saw of it"),
        Fact("4", "shows each place: what the model was asked and said, beside what people saw"),
        Fact("6", "shows each request of the gateway to send or to change a message, and what came of it"),
    ]
