"""A scenario from answers: what people noticed, on which platform, and what they read where."""

from trunkline.app.runs.known_defects import SYMPTOMS
from trunkline.sim.scenario.edit import Tree
from trunkline.sim.scenario.model.scenario import SCENARIO_VERSION

#: symptom -> a bug switch that causes it, and what people say of it
STORIES = {
    "twice": ("answered-twice", "The answer came twice"),
    "lost": ("answer-forgotten", "The answer never came"),
    "late": ("waits-by-the-wall-clock", "The answer came hours late"),
    "wrong place": ("tool-send-captures-route", "The answer came to somebody else"),
    "leaked": ("one-session-for-all", "Others read what was said in private"),
    "forgot": ("outbound-key-loses-account", "The agent does not know what it has said"),
    "unasked": ("heartbeat-without-hours", "The agent wrote in the quiet hours, though nobody asked"),
}


def story_of(symptom: str, platform: str, place: str, text: str) -> Tree:
    """A scenario about a text that people read in a place, which a defect with this symptom breaks.

    `place`: `@person`, `room` or `room/thread`.
    """
    room, _, thread = place.partition("/")
    reader = place[1:] if place.startswith("@") else "ana"
    other = "ben" if reader == "ana" else "ana"
    gateway, rules, script = _happening(symptom, reader, other, place, text)
    return {
        "scenario": SCENARIO_VERSION,
        "title": f"{STORIES[symptom][1]}, on {platform}",
        "tags": [symptom.replace(" ", "-"), platform],
        "gateway": gateway,
        "world": {
            "people": list(dict.fromkeys([reader, *(step["as"] for step in script if "as" in step)])),
            platform: {} if place.startswith("@") else {"rooms": {room: {"threads": [thread] if thread else []}}},
        },
        "cast": {"agents": {"main": rules}},
        "script": script,
        "expect": {"exercised": list(SYMPTOMS[symptom])},
    }


def _happening(symptom: str, reader: str, other: str, place: str, text: str) -> tuple[Tree, list[Tree], list[Tree]]:
    """The configuration, the rules of the agent, and the script."""
    said = text.replace("{", "{{").replace("}", "}}")
    rules: list[Tree] = [{"do": [{"reply": said}]}]
    asks = {"at": "1s", "as": reader, "in": place, "say": "what is the news?"}
    match symptom:
        case "late":
            # The answer waits for its retry while somebody sets the clock of the machine back.
            fails = {"at": "0s", "fault": {"on": "send", "do": "error"}}
            return {}, rules, [fails, asks, {"at": "2s", "clock": {"back": "2h"}}]
        case "wrong place":
            asks |= {"as": other, "in": f"@{other}"}
            sends = {"when": {"text": "greet *"}, "do": [{"send": {"to": place, "text": "hello"}}, {"reply": "done"}]}
            unmarked = {"tools": {"message": {"cross_context": {"marker": {"enabled": False}}}}}
            return unmarked, [sends, *rules], [asks | {"say": "greet them"}, asks | {"at": "10s"}]
        case "leaked":
            secret = {"at": "0s", "as": other, "in": f"@{other}", "say": text, "secret": text}
            return {}, [{"do": [{"reply": "I know: {memory}"}]}], [secret, asks | {"at": "10s"}]
        case "unasked":
            hours = {"start": "08:00", "end": "23:00", "timezone": "UTC"}
            # The run begins at midnight. An idle gateway does nothing in between, so that the day is soon over.
            beats = {"every": "9h", "target": "last", "active_hours": hours}
            wake = {"at": "1h", "wake_heartbeat": {"reason": "hook"}}
            day = [asks, wake, {"at": "10h", "note": "it is day"}]
            alerts = [{"when": {"heartbeat": True}, **rules[0]}, {"do": [{"reply": "hello"}]}]
            return {"delivery": {"watch": "12h", "lease": "12h"}, "heartbeat": beats}, alerts, day
        case _:
            return {}, rules, [asks]
