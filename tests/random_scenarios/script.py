"""The script of a random scenario: messages, sends, crashes, operators' acts, faults."""

from collections.abc import Callable
from typing import Any

from tests.random_scenarios.beats import system_event, wake_heartbeat
from tests.random_scenarios.cast import QUIET, TARGETS, WORDS
from tests.random_scenarios.draws import Draws
from tests.random_scenarios.faults import make_fault
from tests.random_scenarios.gateway import make_reload
from tests.random_scenarios.texts import literal, odd
from tests.random_scenarios.world import THREADLESS, Ground, platform_of
from trunkline.sim.scenario.model.world import BUTTONLESS, POLLLESS

_GAPS = {0.0: 5, 0.01: 4, 0.2: 4, 1.0: 4, 5.0: 3, 30.0: 1, 90.0: 0.5}
_EVENTS = (
    "wire.accepted",
    "intent.prepared",
    "attempt.started",
    "attempt.ended",
    "turn.started",
    "inbound.admitted",
    "delegation.accepted",
    "recovery.decided",
)
_STATES = ("unknown", "dead", "failed", "expired", "partial", "delivered", "cancelled")


class Script:
    """Makes the steps of one scenario, in order."""

    def __init__(self, seed: int, ground: Ground, gateway: dict[str, Any]) -> None:
        self._draws = Draws(seed, "script")
        self._ground = ground
        self._agents: list[str] = [agent["id"] for agent in gateway["agents"]]
        self._commands = "control" in gateway
        channels: dict[str, Any] = gateway.get("channels", {})
        #: platforms whose top-level messages get threads
        self._opening = [name for name, settings in channels.items() if settings.get("auto_thread")]
        #: ids of `say` steps so far, and where each was said
        self.said: dict[str, str] = {}
        #: threads that exist, or will if the gateway opens them
        self.threads = list(ground.threads)
        self._word = "m"
        #: kind of step -> its weight and how it is made
        self._kinds: dict[str, tuple[float, Callable[[], dict[str, Any] | None]]] = {
            "say": (14, self._say),
            "send": (4, self._send),
            "person": (4, self._person),
            "fault": (6, lambda: {"fault": make_fault(self._draws, ground, self._word)}),
            "wake": (1, lambda: {"wake": {"agent": self._draws.pick(self._agents), "text": f"wake {self._word}"}}),
            "crash": (1.5, lambda: {"crash": self._end("restart_after")}),
            "restart": (1.5, lambda: {"restart": {"process": self._process(), "down": self._pause()}}),
            "second": (0.7, lambda: {"second": True}),
            "freeze": (0.7, lambda: {"freeze": self._end("for")}),
            "reload": (1, lambda: {"reload": make_reload(self._draws, ground)}),
            "queue": (1.2, lambda: {"queue": self._queue()}),
            "reset": (0.7, self._reset),
            "replay": (0.8, self._replay),
            "thread": (1.5, self._thread),
            "rotate": (0.5, self._rotate),
            "webhook": (0.5, self._webhook),
            "bind": (1, self._bind),
            "unbind": (0.5, self._unbind),
            "wake_heartbeat": (1, lambda: wake_heartbeat(self._draws, self._agents)),
            "system_event": (0.7, lambda: system_event(self._draws, self._agents, self._word)),
        }

    def steps(self) -> list[dict[str, Any]]:
        draws, at, made = self._draws, 0.0, list[dict[str, Any]]()
        weights = {name: weight for name, (weight, _) in self._kinds.items()}
        for _ in range(draws.number(4, 18)):
            step = self._kinds[draws.weighted(weights)][1]()
            if step is not None:
                at = round(at + draws.weighted(_GAPS), 2)
                made.append({"at": at, **step})
        return made if self.said else [*made, {"at": at, **self._say()}]

    def _place(self, *, rooms: bool = True, direct: bool = True) -> str:
        ground = self._ground
        options = [*(ground.rooms if rooms else ()), *self.threads, *(ground.direct if direct else ())]
        return self._draws.pick(options)

    def _say(self) -> dict[str, Any]:
        draws, place = self._draws, self._place()
        own = f"m{len(self.said) + 1}"
        if place in self._ground.rooms and platform_of(place) in self._opening:
            self.threads.append(f"{place}/{own}")
        self.said[own] = place
        self._word = f"q{len(self.said)}z"
        text = f"{draws.pick(WORDS)} {self._word}" if draws.chance(0.75) else f"hello {self._word}{literal(odd(draws))}"
        if self._commands and draws.chance(0.15):
            text = draws.pick(("/focus", "/focus main", "/focus other", "/unfocus", "/agents", "/focus nobody"))
        step: dict[str, Any] = {"as": draws.pick(self._ground.people), "in": place, "say": text}
        if place in self._ground.rooms:
            step |= draws.fields(reply_chain=(0.03, lambda: "55555"))
        if self._ground.secrets and text.partition(" ")[0] in (*QUIET, "hello"):
            step |= draws.fields(secret=(0.5, lambda: self._word))
        hooked = platform_of(place) == "discord" and "@" not in place
        match draws.weighted({"person": 20, "bot": 1, "via": 1 if hooked else 0, "proxy": 2 if hooked else 0}):
            case "bot":
                step["bot"] = True
            case "via":
                del step["as"]
                step["via"] = "ci"
            case "proxy":
                step["proxy"] = "plural"
            case _:
                pass
        return step

    def _person(self) -> dict[str, Any] | None:
        """A person reacts, votes, presses, edits or deletes; what is not there is skipped when the script plays."""
        draws, place = self._draws, self._place()
        acts: dict[str, Any] = {
            "react": draws.pick(("👍", "💡")),
            "vote": draws.pick((["a"], ["b"], [])),
            "press": "Yes",
            "edit": f"hello {self._word} again",
            "unsend": True,
        }
        lacking = {"vote": POLLLESS, "press": BUTTONLESS}
        able = {name: 1.0 for name in acts if platform_of(place) not in lacking.get(name, ())}
        action = draws.weighted(able)
        step: dict[str, Any] = {"as": draws.pick(self._ground.people), "in": place, action: acts[action]}
        if action == "react":
            step |= draws.fields(remove=(0.3, lambda: True))
        if self.said:
            step |= draws.fields(of=(0.2, lambda: draws.pick(list(self.said))))
        return step

    def _send(self) -> dict[str, Any]:
        draws, ground = self._draws, self._ground
        send: dict[str, Any] = {"text": f"client {self._word}{literal(odd(draws))}"}
        if draws.chance(0.85):
            several = draws.chance(0.15)
            places = [*ground.places, *self.threads]
            send["to"] = list(dict.fromkeys(draws.some(places, 3, 1))) if several else draws.pick(places)
        else:
            send |= {"target": draws.pick(TARGETS), "channel": draws.pick(ground.platforms)}
        more = draws.fields(
            media=(0.1, lambda: ["https://example.org/a.png", "https://example.org/b.pdf"]),
            best_effort=(0.1, lambda: True),
            dry_run=(0.05, lambda: True),
            agent=(0.1, lambda: draws.pick(self._agents)),
            session=(0.1, lambda: draws.pick(ground.places)),
            key=(0.2, lambda: draws.pick(("k1", "k2"))),
            process=(0.1, lambda: "second"),
        )
        if draws.chance(0.05):
            return {"send": {**send, **more, "text": "", "poll": {"question": "which?", "options": ["a", "b"]}}}
        if draws.chance(0.03):
            return {"send": {**send, **more, "text": "", "payload": '{"blocks": []}'}}
        return {"send": send | more}

    def _process(self) -> str:
        return "second" if self._draws.chance(0.2) else "gateway"

    def _pause(self) -> str:
        return self._draws.pick(("100ms", "1s", "5s", "40s"))

    def _end(self, pause: str) -> dict[str, Any]:
        """Settings of a crash or freeze: now, or at an event."""
        draws = self._draws
        made: dict[str, Any] = {
            "process": self._process(),
            pause: self._pause() if pause != "for" else draws.pick(_FREEZE),
        }
        if draws.chance(0.5):
            made["when"] = {"event": draws.pick(_EVENTS), "nth": draws.number(1, 3)}
        return made

    def _queue(self) -> dict[str, Any]:
        draws = self._draws
        made: dict[str, Any] = {"do": draws.pick(("retry", "resolve", "purge"))}
        if made["do"] == "resolve":
            made["verdict"] = draws.pick(("sent", "unsent", "abandon"))
        made |= draws.fields(state=(0.6, lambda: draws.pick(_STATES)), process=(0.1, lambda: "second"))
        return made | draws.fields(**{"in": (0.2, self._place)})

    def _reset(self) -> dict[str, Any]:
        agent = {"agent": self._draws.pick(self._agents)} if self._draws.chance(0.3) else True
        return {"in": self._place(), "reset": agent}

    def _replay(self) -> dict[str, Any]:
        messages = self._draws.some(list(self.said), 3)
        return {"replay": {"messages": messages} if messages else {}}

    def _thread(self) -> dict[str, Any] | None:
        if not self.threads:
            return None
        place, action = self._draws.pick(self.threads), self._draws.pick(("archive", "archive", "unarchive", "delete"))
        locked = {"locked": True} if action == "archive" and self._draws.chance(0.3) else {}
        return {"in": place, action: True, **locked}

    def _rotate(self) -> dict[str, Any]:
        platform = self._draws.pick(self._ground.platforms)
        account = self._draws.pick(self._ground.accounts[platform])
        return {"rotate": {"platform": platform, "account": account, "tell": self._draws.pick(("0s", "500ms", "10s"))}}

    def _webhook(self) -> dict[str, Any] | None:
        places = [place for place in self._ground.rooms if platform_of(place) == "discord"]
        state = self._draws.pick(("deleted", "forbidden"))
        return {"webhook": {"in": self._draws.pick(places), "state": state}} if places else None

    def _bind(self) -> dict[str, Any]:
        draws = self._draws
        return {
            "bind": {
                "in": self._place(rooms=draws.chance(0.5), direct=draws.chance(0.5)) if self.threads else self._place(),
                "session": draws.pick(self._ground.places),
                **draws.fields(
                    agent=(0.4, lambda: draws.pick(self._agents)),
                    idle=(0.2, lambda: draws.pick(("5s", "1m"))),
                    max_age=(0.1, lambda: "20s"),
                    label=(0.2, lambda: "a label"),
                ),
            }
        }

    def _unbind(self) -> dict[str, Any]:
        if self._draws.chance(0.5):
            return {"unbind": {"in": self._place()}}
        return {"unbind": {"session": self._draws.pick(self._ground.places)}}


_FREEZE = ("2s", "30s", "90s")


def stored_sessions(seed: int, ground: Ground, agents: list[str]) -> list[dict[str, Any]]:
    """Sessions that an earlier version left in the store; usually none."""
    draws = Draws(seed, "stored")
    if not draws.chance(0.06):
        return []
    place = draws.pick([*ground.rooms, *(one for one in ground.threads if platform_of(one) not in THREADLESS)])
    main = {"key": f"agent:{agents[0]}:main", "id": "old-1", "agent": agents[0], "lines": ["user: long ago"]}
    return [{**main, "place": place}]
