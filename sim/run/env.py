"""The simulated `core.env.Env`: virtual time, readable ids derived from content, seeded randomness."""

from collections import Counter
from collections.abc import Callable, Mapping

from trunkline.core.env import Env


class SimIds:
    """Ids that depend on their purpose, never on how many ids were made before (docs/simulation.md).

    `name_of` maps a platform's message (channel, account, conversation, thread, message id) to its name in the
    scenario. Two requests for the same thing give ``m1`` and ``m1+2``. A session id may be requested several times
    before the session exists, so it stays the same until a session has it.
    """

    def __init__(self, name_of: Callable[[tuple[str, ...]], str | None]) -> None:
        self._name_of = name_of
        self._asked: Counter[tuple[str, str]] = Counter()
        #: number of ids made so far
        self.made = 0
        #: ids of current and former sessions
        self.session_ids: set[str] = set()

    def new(self, kind: str, *parts: str) -> str:
        if kind == "session":
            return self._session(f"s-{'/'.join(parts)}")
        base = self._name_of(parts) if kind == "inbound" else None
        base = base or f"{kind}-{'/'.join(part for part in parts if part)}"
        self._asked[kind, base] += 1
        self.made += 1
        count = self._asked[kind, base]
        return base if count == 1 else f"{base}+{count}"

    def _session(self, base: str) -> str:
        """The first unused id of its kind: ``s-main:main``, and after a reset ``s-main:main+2``."""
        number, found = 1, base
        while found in self.session_ids:
            number += 1
            found = f"{base}+{number}"
        return found


class SimFiles:
    """The files of a scenario."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    async def read(self, path: str, limit: int) -> bytes | None:
        """The first bytes of a file; None if the scenario has none of this name."""
        text = self._files.get(path)
        return None if text is None else text.encode()[:limit]


def sim_env(
    now: Callable[[], float], steady: Callable[[], float], ids: SimIds, seed: int, files: Mapping[str, str]
) -> Env:
    """An environment on virtual time: the wall clock, which the script may set, and the time itself."""
    return Env(now=now, ids=ids, seed=str(seed), steady=steady, files=SimFiles(files))
