"""Token buckets: how often a token, or an address without one, may ask."""

from __future__ import annotations

import math
from collections.abc import Callable

from trunkline.core.http.problems import Problem
from trunkline.core.http.settings import Rate

#: buckets kept at once; the oldest goes first, and begins full when it comes again
_MOST = 10_000


class RateLimit:
    """One bucket for each key. `steady` is the steady clock."""

    def __init__(self, rate: Rate, steady: Callable[[], float]) -> None:
        self._rate = rate
        self._steady = steady
        #: key -> requests left, and when that was; the least recently used first
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> None:
        """Count one request. Raises `Problem` 429 with the time to wait."""
        rate, now = self._rate, self._steady()
        left, at = self._buckets.pop(key, (float(rate.burst), now))
        left = min(float(rate.burst), left + max(0.0, now - at) * rate.per_second)
        enough = left >= 1
        self._buckets[key] = (left - 1 if enough else left, now)
        if len(self._buckets) > _MOST:
            del self._buckets[next(iter(self._buckets))]
        if not enough:
            wait = max(1, math.ceil((1 - left) / rate.per_second))
            detail = f"Too many requests: at most {rate.per_second:g} per second over time, and {rate.burst} at once."
            raise Problem(429, "too-many-requests", detail, headers={"Retry-After": str(wait)})
