"""What agents of a random scenario do with the message tool: messages with parts, changes, questions, broadcasts."""

from copy import deepcopy
from typing import Any

from tests.random_scenarios.draws import Draws
from tests.random_scenarios.world import Ground, platform_of

_BUTTONS = {"action": "send", "with": {"message": "which {n}?", "buttons": [[{"text": "Yes", "callback_data": "yes"}]]}}
_POLL = {"action": "poll", "with": {"pollQuestion": "which {n}?", "pollOption": ["a", "b"]}}
ASKED = (_BUTTONS, _POLL)
#: changes of a message, with what each needs
CHANGES: tuple[dict[str, Any], ...] = (
    {"action": "edit", "with": {"message": "edited {text}"}},
    {"action": "delete"},
    {"action": "unsend"},
    {"action": "pin"},
    {"action": "unpin"},
    {"action": "react", "with": {"emoji": "👍"}},
    {"action": "react", "with": {"emoji": "👍", "remove": True}},
    {"action": "reply", "with": {"message": "about that: {text}"}},
)
_QUESTIONS: tuple[dict[str, Any], ...] = (
    {"action": "reactions", "of": "last"},
    {"action": "read"},
    {"action": "list-pins"},
    {"action": "poll-results", "of": "last"},
)
_OTHERS: tuple[dict[str, Any], ...] = (
    {"action": "thread-create", "with": {"threadName": "aside {n}"}},
    {"action": "set-presence", "with": {"activityName": "work {n}"}},
    {"action": "send", "with": {"message": "quiet {n}", "silent": True}},
    {"action": "no-such-action"},
    {"action": "edit", "with": {"messageId": "", "message": 7}},
)


def changes_of_last(draws: Draws) -> list[dict[str, Any]]:
    """Some changes of the bot's newest message in the session."""
    return [{"act": {**deepcopy(one), "of": "last"}} for one in draws.some(CHANGES, 3, 1)]


def change_of(draws: Draws, message: str) -> dict[str, Any]:
    """A change of somebody's message, which the platform may refuse; `message`: id of its step, or `last`."""
    return {"act": {**deepcopy(draws.pick(CHANGES)), "of": message}}


def other_act(draws: Draws, ground: Ground) -> dict[str, Any]:
    """A question, a broadcast, or a change that concerns no message."""
    match draws.weighted({"question": 2, "other": 2, "broadcast": 2, "elsewhere": 1}):
        case "question":
            return {"act": deepcopy(draws.pick(_QUESTIONS))}
        case "other":
            return {"act": deepcopy(draws.pick(_OTHERS))}
        case "elsewhere":
            act = deepcopy(draws.pick((*ASKED, {"action": "send", "with": {"message": "aside {n} {text}"}})))
            return {"act": {**act, "to": draws.pick(ground.places)}}
        case _:
            return {"act": broadcast(draws, ground)}


def broadcast(draws: Draws, ground: Ground) -> dict[str, Any]:
    """A broadcast to up to three places of one account."""
    first = draws.pick(ground.places)
    account = first.partition("/")[0]
    alike = [place for place in ground.places if place.partition("/")[0] == account and place.count("/") < 2]
    places = draws.some(alike, 3, 1)
    act: dict[str, Any] = {"action": "broadcast", "to": places, "with": {"message": "to all {n} {text}"}}
    if draws.chance(0.2):
        return {"action": "broadcast", "with": {"message": "all {n}", "targets": ["+1", "x"], "channel": "all"}}
    if draws.chance(0.1):
        act["with"]["media"] = "https://example.org/cat.png"
    assert all(platform_of(place) == platform_of(first) for place in places)
    return act
