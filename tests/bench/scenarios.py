"""Scenarios made for measuring: dense with faults, a quiet day, an hour of a thousand messages."""

import json
import random

from trunkline.sim.scenario import ScenarioFile, load_text

_FAULTS = ("lose-response", "rate-limit", "slow", "error", "drop")


def made(name: str, steps: list[dict], *, people: int, platform: str = "discord") -> ScenarioFile:
    """A scenario of direct conversations with an echoing agent."""
    scenario = {
        "scenario": 1,
        "title": name,
        "world": {"people": [f"u{n}" for n in range(people)], platform: {}},
        "cast": {"agents": {"main": [{"do": [{"think": "200ms"}, {"reply": "re: {text}"}]}]}},
        "script": steps,
    }
    return load_text(json.dumps(scenario), f"{name}.yaml")


def says(seed: str, count: int, seconds: float, people: int) -> list[dict]:
    """Messages at random times."""
    dice = random.Random(seed)
    times = sorted(round(dice.uniform(0.5, seconds), 3) for _ in range(count))
    steps = []
    for number, at in enumerate(times):
        person = f"u{dice.randrange(people)}"
        steps.append({"at": at, "as": person, "in": f"@{person}", "say": f"b{number}", "id": f"m{number}"})
    return steps


def dense(seed: int, *, count: int = 50, faults: int = 5) -> ScenarioFile:
    """Messages in half a second each, some of which meet a fault, and one crash."""
    dice = random.Random(f"dense{seed}")
    steps: list[dict] = []
    for number in range(faults - 1):
        kind = _FAULTS[number % len(_FAULTS)]
        text = f"re: b{dice.randrange(count)}"
        steps.append({"at": 0, "fault": {"on": "send", "do": kind, "text": text, "for": "2s"}})
    steps.append({"at": 0, "crash": {"when": {"event": "wire.accepted", "nth": count // 2}, "restart_after": "1s"}})
    return made("dense", steps + says(f"dense{seed}", count, count * 0.5, 8), people=8)


def quiet_day() -> ScenarioFile:
    """A message a minute for a day."""
    steps = [
        {"at": minute * 60, "as": f"u{minute % 8}", "in": f"@u{minute % 8}", "say": f"b{minute}"}
        for minute in range(1440)
    ]
    return made("quiet-day", steps, people=8)


def busy_hour() -> ScenarioFile:
    """A thousand messages in an hour."""
    return made("busy-hour", says("hour", 1000, 3590.0, 20), people=20)
