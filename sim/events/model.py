"""A model on the wire: what it was asked, and what it answered."""

from __future__ import annotations

from typing import ClassVar

from trunkline.sim.events.base import PlatformBody


class ModelAsked(PlatformBody, frozen=True, kw_only=True):
    """Somebody asked the model."""

    kind: ClassVar[str] = "model.asked"
    #: the name of the model in the request
    model: str
    #: what the user has said since the model last spoke
    said: tuple[str, ...] = ()


class ModelAnswered(PlatformBody, frozen=True, kw_only=True):
    """The last byte of an answer was written."""

    kind: ClassVar[str] = "model.answered"
    status: int
    text: str = ""
