"""A random scenario of delegated work for each seed, and where its process is killed."""

from typing import Any

from tests.random_hands.cast import make_cast, make_workers
from tests.random_hands.draws import Draws
from tests.random_hands.faults import hand_fault
from tests.random_hands.oracle import word
from trunkline.sim import CrashAt

Tree = dict[str, Any]

PEOPLE = ("ana", "ben", "cleo")
#: platforms and how they recognise a repeated send
PLATFORMS = {"discord": "key", "matrix": "key", "slack": "lookup", "telegram": "none"}
ACCOUNTS = ("default", "relay")
#: two functions, an agent and a worker
HANDS = ("hare", "snail", "clerk", "courier")
#: first words of messages that the agent has rules for; the clerk looks at some of them, too
ASKS = ("one", "two", "all", "late", "mute", "note", "soon", "deep", "round", "stop", "check")
_LIMITS = ({"running": 1}, {"open_per_session": 2}, {"inline_result": 10}, {"depth": 1})
_COMMANDS = ("/tasks", "/cancel last", "/cancel nothing")
_SCOPES = ("main", "per-peer", "per-channel-peer", "per-account-channel-peer")
_GAPS = {0.0: 5, 0.01: 4, 0.3: 4, 2.0: 4, 8.0: 3, 40.0: 1}
_STEPS = {"say": 14, "fault": 3, "crash": 1.5, "restart": 1, "rotate": 1, "second": 0.5, "freeze": 0.7, "reset": 0.3}
_EVENTS = (
    "delegation.accepted",
    "delegation.started",
    "delegation.finished",
    "callback.changed",
    "turn.started",
    "intent.prepared",
    "wire.accepted",
)


def make_hand_scenario(seed: int) -> Tree:
    """The scenario of a seed: the same on any machine."""
    draws = Draws(seed, "hand world")
    platforms = draws.some(tuple(PLATFORMS), 2, 2)
    places = [place for platform in platforms for place in _places(platform)]
    return {
        "scenario": 1,
        "title": f"random delegations {seed}",
        "seed": seed,
        "gateway": _gateway(seed),
        "world": {"people": list(PEOPLE), **{platform: _platform(draws, platform) for platform in platforms}},
        "cast": {**make_cast(seed), "workers": make_workers(seed)},
        "script": Story(seed, platforms, places).steps(),
    }


def crashes_of(seed: int) -> tuple[CrashAt, ...]:
    """Where the process of a seed is killed, beyond its script; mostly somewhere."""
    draws = Draws(seed, "hand crashes")

    def one() -> CrashAt:
        if draws.chance(0.5):
            return CrashAt(what="commit", n=draws.number(1, 60))
        return CrashAt(what="step", n=draws.number(1, 1500), kind="stop" if draws.chance(0.2) else "kill")

    return tuple(one() for _ in range(draws.weighted({0: 1, 1: 3, 2: 1})))


def _places(platform: str) -> list[str]:
    rooms = [f"{platform}:{account}/{room}" for account in ACCOUNTS for room in ("ops", "ops/t1")]
    return [*rooms, *(f"{platform}:{account}/@{person}" for account in ACCOUNTS for person in PEOPLE)]


def _platform(draws: Draws, platform: str) -> Tree:
    return {
        "accounts": {account: {} for account in ACCOUNTS},
        "rooms": {"ops": {"threads": {"t1": {}}}},
        "idempotency": draws.pick((PLATFORMS[platform], "key")),
    }


def _gateway(seed: int) -> Tree:
    draws = Draws(seed, "hand gateway")

    def settings() -> Tree:
        return draws.fields(
            deadline=(0.5, lambda: draws.pick(("3s", "30s"))), on_restart=(0.6, lambda: draws.pick(("lost", "rerun")))
        )

    hands = {
        "defaults": settings(),
        "each": {"courier": {"worker": True, "deadline": draws.pick(("20s", "3m"))}},
        **draws.fields(
            announce=(0.15, lambda: "direct"),
            on_timeout=(0.2, lambda: "silent"),
            on_cancel=(0.2, lambda: "silent"),
            limits=(
                0.3,
                lambda: draws.pick(({"running": 1}, {"open_per_session": 2}, {"inline_result": 10}, {"depth": 1})),
            ),
        ),
    }
    return {
        "agents": [{"id": "main"}, {"id": "clerk"}],
        "hands": hands,
        "control": {"enabled": True},
        **draws.fields(
            session=(0.5, lambda: {"dm_scope": draws.pick(_SCOPES)}),
            delivery=(0.3, lambda: {"max_attempts": draws.pick((2, 8)), "backoff": ["1s", "5s"]}),
        ),
    }


class Story:
    """Makes the steps of one scenario, in order."""

    def __init__(self, seed: int, platforms: list[str], places: list[str]) -> None:
        self._draws = Draws(seed, "hand story")
        self._platforms = platforms
        #: few, so that people meet
        self._places = self._draws.some(places, 5, 2)
        self._rooms = [place for place in self._places if "@" not in place] or self._places
        self._said = 0

    def steps(self) -> list[Tree]:
        draws, at, made = self._draws, 0.0, list[Tree]()
        for _ in range(draws.number(4, 16)):
            at = round(at + draws.weighted(_GAPS), 2)
            made.append({"at": at, **self._step(draws.weighted(_STEPS))})
        return [*made, {"at": at, **self._say()}]

    def _step(self, kind: str) -> Tree:
        draws = self._draws
        match kind:
            case "say":
                return self._say()
            case "fault":
                return {"fault": hand_fault(draws, self._places)}
            case "crash":
                when = {"event": draws.pick(_EVENTS), "nth": draws.number(1, 4)}
                pause = {"restart_after": draws.pick(("100ms", "2s", "40s"))}
                return {"crash": {**pause, **draws.fields(when=(0.7, lambda: when))}}
            case "restart":
                return {"restart": {"down": draws.pick(("100ms", "5s"))}}
            case "rotate":
                platform, account = draws.pick(self._platforms), draws.pick(ACCOUNTS)
                return {"rotate": {"platform": platform, "account": account, "tell": draws.pick(("0s", "3s"))}}
            case "freeze":
                return {"freeze": {"for": draws.pick(("2s", "90s"))}}
            case "operator":
                return {"hands": self._operator()}
            case "command":
                return {"as": draws.pick(PEOPLE), "in": draws.pick(self._rooms), "say": draws.pick(_COMMANDS)}
            case "reset":
                return {"in": draws.pick(self._places), "reset": True}
            case _:
                return {"second": True}

    def _operator(self) -> Tree:
        draws = self._draws
        return {
            "do": draws.pick(("cancel", "cancel", "retry-callback", "discard")),
            **draws.fields(hand=(0.7, lambda: draws.pick(HANDS)), outside=(0.5, lambda: True)),
        }

    def _say(self) -> Tree:
        draws, place = self._draws, self._draws.pick(self._places)
        self._said += 1
        person = place.partition("@")[2] or draws.pick(PEOPLE)
        text = f"{draws.pick(ASKS)} {word(self._said)}" if draws.chance(0.85) else f"hello {word(self._said)}"
        return {"as": person, "in": place, "say": text}
