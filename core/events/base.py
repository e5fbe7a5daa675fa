"""The base of event bodies, the registry of their kinds, and the event at the end of every whole trace."""

import re
from typing import Any, ClassVar

import msgspec

_WORDS = re.compile(r"[A-Z][a-z0-9]*")
#: every body type by its kind, in the order of declaration
BODIES: "dict[str, type[Body]]" = {}


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Base of all bodies. A subclass registers itself by its kind: that of its name, unless it says another one.

    A trace names the kind, so a class that is renamed says what it was. A base of others has an empty one.
    Bodies hold plain values only, so the garbage collector does not track them.
    """

    #: the dotted name in the trace, e.g. ``wire.accepted`` for `WireAccepted`
    kind: ClassVar[str] = ""
    #: what records it: a ``gateway`` process, a simulated ``platform``, or the runner of the simulator, ``sim``
    recorded_by: ClassVar[str] = "gateway"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" not in vars(cls):
            first, *rest = _WORDS.findall(cls.__name__)
            cls.kind = f"{first}.{'_'.join(rest)}".lower()
        if cls.kind:
            known = BODIES.setdefault(cls.kind, cls)
            if known.__qualname__ != cls.__qualname__:
                raise TypeError(f"{cls.__name__} and {known.__name__} are both of kind {cls.kind!r}")
            # msgspec creates a class with slots twice; the second class is used.
            BODIES[cls.kind] = cls


class RunEnded(Body, frozen=True, kw_only=True):
    """The run is over; always the last event of a complete trace. `open` names what never came to rest.

    `waiting`: work that waits for something that only a person or an operator can do, such as a parked report. The run
    is at rest anyway.
    `cut`: the simulator ended it while it went on, e.g. ``after 9,000 events``. What the end shows is not judged then.
    """

    recorded_by: ClassVar[str] = "sim"
    at_rest: bool
    open: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    cut: str = ""
