"""The defects of the toy gateway, each with the invariants of the wire side that find it."""

import msgspec


class ToyDefect(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake that can be switched on. `TOY_DEFECTS` of `gateway.py` has the names, and what each does."""

    name: str
    #: the file below ``tests/attach/toy`` that shows it
    scenario: str
    #: the invariant that finds it
    found_by: str
    #: further ones that it breaks, because one mistake has both effects
    also: tuple[str, ...] = ()
    #: it is one of answers that are shown while they grow
    streams: bool = False

    @property
    def breaks(self) -> frozenset[str]:
        return frozenset({self.found_by, *self.also})


def _defect(name: str, scenario: str, found_by: str, *also: str, streams: bool = False) -> ToyDefect:
    return ToyDefect(name=name, scenario=scenario, found_by=found_by, also=also, streams=streams)


TOY_DEFECTS: tuple[ToyDefect, ...] = (
    _defect("resends-after-reset", "lost-answer", "X1"),
    _defect("resends-after-restart", "killed-when-accepted", "X1"),
    _defect("posts-final-text", "growing", "X1", streams=True),
    _defect("answers-in-last-chat", "two-people", "X2"),
    _defect("answers-in-parent", "topic-deleted", "X3"),
    _defect("drops-at-boot", "said-while-down", "X4"),
    _defect("confirms-first", "killed-when-asked", "X4"),
    _defect("gives-up-silently", "refused", "X4"),
    _defect("stops-editing", "growing-limited", "X4", streams=True),
    _defect("impatient", "slow-model", "X5"),
    # The second turn has an answer of its own, which is visible beside the first.
    _defect("answers-again", "delivered-twice", "X5", "X1"),
    _defect("greets", "restarted", "X6"),
    _defect("ignores-retry-after", "rate-limit", "X7"),
    _defect("one-history", "secret", "X8"),
    _defect("in-parallel", "order", "X9"),
    _defect("repeats-refused", "refused-again", "X10"),
)
