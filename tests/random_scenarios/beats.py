"""Heartbeats and the schedule of a random scenario: their settings, what agents do in them, and requests for them."""

from typing import Any

from tests.random_scenarios.acts import change_of, other_act
from tests.random_scenarios.draws import Draws
from tests.random_scenarios.world import Ground

_TARGETS = ("last", "owner", "none")


def make_beats(seed: int, ground: Ground, agents: list[str], default: str) -> dict[str, Any]:
    """Parts of the configuration: `heartbeat`, `cron`, and one agent's own heartbeat under its id; often nothing."""
    draws = Draws(seed, "beats")
    made = draws.fields(heartbeat=(0.35, lambda: heartbeat(draws, ground)))
    if draws.chance(0.08):
        made[draws.pick(agents)] = heartbeat(draws, ground)
    own = [agent for agent in agents if agent in made]
    beating = own or ([default] if "heartbeat" in made else [])
    return made | draws.fields(cron=(0.2, lambda: cron(draws, ground, agents, beating)))


def heartbeat(draws: Draws, ground: Ground) -> dict[str, Any]:
    def hours() -> dict[str, Any]:
        start, end = draws.pick((("00:00", "00:01"), ("00:01", "24:00"), ("22:00", "06:00"), ("09:00", "18:00")))
        return {"start": start, "end": end, "timezone": draws.pick(("UTC", "Asia/Tokyo"))}

    return {
        "every": draws.pick(("30s", "60s", "2m", 1, 0)),
        "target": draws.pick((*_TARGETS, "last", *ground.platforms)),
        **draws.fields(
            text=(0.3, lambda: draws.pick(("# nothing\n", "- look after {braces}", "tasks:\n- name: a\n"))),
            ack_max_chars=(0.2, lambda: draws.pick((0, 5))),
            active_hours=(0.15, hours),
            direct_policy=(0.15, lambda: "block"),
            include_reasoning=(0.1, lambda: True),
            response_prefix=(0.1, lambda: "[beat]"),
            skip_when_busy=(0.2, lambda: True),
        ),
    }


def cron(draws: Draws, ground: Ground, agents: list[str], beating: list[str]) -> list[dict[str, Any]]:
    """Entries of the schedule; those that wake a heartbeat belong to an agent that has one (`beating`)."""
    entries = list[dict[str, Any]]()
    for number in range(draws.number(1, 3)):
        when = draws.pick(({"every": "30s"}, {"every": "60s"}, {"cron": "* * * * *"}, {"at": "1970-01-01T00:00:20Z"}))
        entry: dict[str, Any] = {"id": f"c{number}", **when, "text": f"job {number}", "timezone": "UTC"}
        if beating and draws.chance(0.5):
            entry |= {"wake": draws.pick(("now", "next-heartbeat")), "agent": draws.pick(beating)}
        else:
            entry |= draws.fields(
                target=(0.7, lambda: draws.pick((*_TARGETS, *ground.platforms))),
                agent=(0.3, lambda: draws.pick(agents)),
            )
        entries.append(entry)
    return entries


def beat_rules(seed: int, ground: Ground) -> list[dict[str, Any]]:
    """Rules of an agent for its heartbeats and entries of the schedule."""
    draws = Draws(seed, "beat rules")
    return [
        {"when": {"heartbeat": True, "text": "*happened*"}, "do": _beat(draws, ground)},
        {"when": {"heartbeat": True}, "do": _beat(draws, ground)},
        {"when": {"cron": "*"}, "do": _beat(draws, ground)},
    ]


def _beat(draws: Draws, ground: Ground) -> list[dict[str, Any]]:
    said = draws.pick(
        ("HEARTBEAT_OK", "HEARTBEAT_OK {n}", "**HEARTBEAT_OK**", "round {n}", "the same", "Reasoning: hm\n\nround {n}")
    )
    before = draws.weighted({"none": 6, "think": 2, "act": 2, "send": 1, "change": 1})
    steps: dict[str, list[dict[str, Any]]] = {
        "none": [],
        "think": [{"think": draws.pick(("1s", "4s"))}],
        "act": [other_act(draws, ground)],
        "send": [{"send": {"text": "beat {n}", "to": draws.pick(ground.places)}}],
        "change": [change_of(draws, "last")],
    }
    ends: dict[str, dict[str, Any]] = {"reply": {"reply": said}, "silent": {"silent": True}, "fail": {"fail": "ill"}}
    return [*steps[before], ends[draws.weighted({"reply": 8, "silent": 1, "fail": 1})]]


def wake_heartbeat(draws: Draws, agents: list[str]) -> dict[str, Any]:
    return {
        "wake_heartbeat": draws.fields(
            agent=(0.3, lambda: draws.pick(agents)),
            reason=(0.5, lambda: draws.pick(("hook", "exec-event", "cron:c0", "anything"))),
            times=(0.3, lambda: 3),
        )
        or True
    }


def system_event(draws: Draws, agents: list[str], word: str) -> dict[str, Any]:
    step: dict[str, Any] = {"text": f"event {word}"}
    return {"system_event": step | draws.fields(agent=(0.3, lambda: draws.pick(agents)), wake=(0.3, lambda: False))}
