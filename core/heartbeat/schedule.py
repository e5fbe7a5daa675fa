"""When a heartbeat is due next: at multiples of its interval, which a restart does not move."""

from collections.abc import Callable

#: the most steps of a search for active hours
_FAR = 20_000
_MINUTE = 60.0


def next_due(phase: float, every: float, now: float) -> float:
    """The first time after `now` that is a multiple of the interval away from `phase`. `every` is above 0."""
    due = phase + max(0, (now - phase) // every + 1) * every
    # Rounding may give `now` itself, for long distances or tiny intervals.
    while due <= now:
        due += every
    return due


def plan_at_start(
    every: float, now: float, *, stored: float | None = None, stored_every: float | None = None
) -> float | None:
    """The next run when a process starts or a configuration is loaded, in seconds since the epoch; None: never.

    `stored`: the next run as an earlier process left it, with its interval. If that time has passed, the heartbeat is
    due now, once. Another interval counts from the last time that the heartbeat was due. Without them the times are the
    multiples of the interval since the epoch, whenever the process began: it may have ended before they were stored.
    """
    if every <= 0:
        return None
    if stored is None or stored_every is None or stored_every <= 0:
        return next_due(0.0, every, now)
    # A clock that was set back leaves times that lie too far ahead.
    return min(stored if stored_every == every else stored - stored_every + every, now + every)


def first_active(at: float, every: float, active: Callable[[float], bool]) -> float:
    """The first multiple of the interval from `at` on that is within the active hours; `at` if there is none.

    Active hours begin and end with a minute, so steps of up to a minute miss none of them.
    """
    step = every * max(1, _MINUTE // every)
    due = at
    for _ in range(_FAR):
        if active(due):
            break
        due += step
    else:
        return at
    # They may have begun since the step before.
    while due - every >= at and active(due - every):
        due -= every
    return due
