"""A model on the wire: what it was asked, and what it answered."""

from trunkline.core.values import Address
from trunkline.sim.events.base import PlatformBody


class ModelAsked(PlatformBody, frozen=True, kw_only=True):
    """A client asked the model."""

    #: the name of the model in the request
    model: str
    #: what the user has said since the model last spoke, without what the gateway is known to add
    said: tuple[str, ...] = ()
    #: the marks of questions in `said`, in order, each once
    marks: tuple[str, ...] = ()
    #: no turn: a request beside it, such as one for a title
    beside: bool = False
    #: secrets (of `peer.said`) anywhere in the prompt
    secrets: tuple[str, ...] = ()
    stream: bool = False
    #: the number of tools that it may call
    tools: int = 0
    #: the end of the prompt, for readers
    tail: str = ""
    #: where the newest of the questions was asked
    origin: Address | None = None

    @property
    def text(self) -> str:
        """The text of a request, for steps that wait for one; empty for a request beside the turns."""
        return "" if self.beside else "\n".join(self.said)


class ModelAnswered(PlatformBody, frozen=True, kw_only=True):
    """The last byte of an answer was written; its cause is the `model.asked`."""

    status: int
    text: str = ""
    #: that of the `model.asked`
    origin: Address | None = None
