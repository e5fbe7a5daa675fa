"""A scenario from answers: what people noticed, on which platform, and what they read where."""

from typing import Any

from trunkline.app.runs.known_defects import SYMPTOMS
from trunkline.sim.scenario.edit import Tree
from trunkline.sim.scenario.model.scenario import SCENARIO_VERSION

#: symptom -> a bug switch that causes it, and what people say of it
STORIES = {
    "twice": ("answered-twice", "The answer came twice"),
    "lost": ("answer-forgotten", "The answer never came"),
    "late": ("waits-by-the-wall-clock", "The answer came hours late"),
    "wrong place": ("tool-send-captures-route", "The answer came to somebody else"),
    "leaked": ("one-session-for-all", "Others were told what was said in private"),
    "forgot": ("outbound-key-loses-account", "The agent does not know what it has said"),
    "unasked": ("heartbeat-without-hours", "The agent wrote in the quiet hours, though nobody asked"),
}


def story_of(symptom: str, platform: str, place: str, text: str) -> Tree:
    """A scenario about a text that people read in a place, which a defect with this symptom breaks.

    `place`: `@person`, `room` or `room/thread`.
    """
    said = STORIES[symptom][1]
    room, _, thread = place.partition("/")
    reader = place[1:] if place.startswith("@") else "ana"
    other = "ben" if reader == "ana" else "ana"
    rooms = {} if place.startswith("@") else {"rooms": {room: {"threads": [thread]} if thread else {}}}
    gateway, rules, script = _happening(symptom, reader, other, place, text)
    return {
        "scenario": SCENARIO_VERSION,
        "title": f"{said}, on {platform}",
        "tags": [symptom.replace(" ", "-"), platform],
        **({"gateway": gateway} if gateway else {}),
        "world": {"people": [reader, other], platform: rooms},
        "cast": {"agents": {"main": rules}},
        "script": script,
        "expect": {"exercised": list(SYMPTOMS[symptom])},
    }


def _happening(symptom: str, reader: str, other: str, place: str, text: str) -> tuple[Tree, list[Any], list[Any]]:
    """The configuration, the rules of the agent, and the script."""
    said = text.replace("{", "{{").replace("}", "}}")
    answers: list[Any] = [{"do": [{"reply": said}]}]
    asks = {"at": "1s", "as": reader, "in": place, "say": "what is the news?"}
    if symptom == "late":
        # The answer waits for its retry while somebody sets the clock of the machine back.
        fails = {"at": "0s", "fault": {"on": "send", "do": "error"}}
        return {}, answers, [fails, asks, {"at": "2s", "clock": {"back": "2h"}}]
    if symptom == "wrong place":
        elsewhere = f"@{other}"
        tools = {"message": {"cross_context": {"marker": {"enabled": False}}}}
        tells = {"when": {"text": "tell *"}, "do": [{"send": {"to": place, "text": "hello"}}, {"reply": "done"}]}
        told = {**asks, "as": other, "in": elsewhere, "say": "tell them hello"}
        return {"tools": tools}, [tells, *answers], [told, {**asks, "at": "10s", "as": other, "in": elsewhere}]
    if symptom == "leaked":
        secret = {"at": "0s", "as": other, "in": f"@{other}", "say": text, "secret": text}
        remembers = [{"do": [{"reply": "I know: {memory}"}]}]
        return {}, remembers, [secret, {**asks, "at": "10s"}]
    if symptom == "unasked":
        hours = {"start": "08:00", "end": "23:00", "timezone": "UTC"}
        beats = {"every": "9h", "target": "last", "active_hours": hours}
        alerts = [{"when": {"heartbeat": True}, "do": [{"reply": said}]}, {"do": [{"reply": "hello"}]}]
        # The run begins at midnight. An idle gateway does nothing in between, so that the day is soon over.
        idle = {"watch": "12h", "lease": "12h"}
        wake = {"at": "1h", "wake_heartbeat": {"reason": "hook"}}
        return {"delivery": idle, "heartbeat": beats}, alerts, [asks, wake, {"at": "10h", "note": "it is day"}]
    return {}, answers, [asks]
