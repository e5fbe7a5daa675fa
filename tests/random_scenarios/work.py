"""Delegated work in a random scenario: agents as hands, workers, timeouts, labels, cancels, prompts, and calls.

It comes after everything else of the script, from streams of its own, so that the rest of a seed's scenario stays.
"""

from __future__ import annotations

from typing import Any

from tests.random_scenarios.draws import Draws
from tests.random_scenarios.world import Ground

Tree = dict[str, Any]

_WORDS = ("hire", "soon", "halt", "peek", "ship", "swarm")
_GAPS = {0.0: 4, 0.2: 3, 2.0: 3, 10.0: 2, 45.0: 1}
_WORKER = "courier"
#: what a worker does wrong; mostly nothing
_MISTAKES: tuple[Tree, ...] = (
    *({}, {}, {}, {}, {}, {}, {}),
    *({"ticket": "wrong"}, {"names": "other"}, {"names": "unknown"}),
)
_OPERATIONS = ("cancel", "retry-callback", "discard")


def add_work(seed: int, tree: Tree, ground: Ground) -> None:
    """Add delegated work to a scenario, in half of the cases."""
    draws = Draws(seed, "work")
    if not draws.chance(0.5):
        return
    agents = [agent["id"] for agent in tree["gateway"]["agents"]]
    _configure(draws, tree["gateway"])
    for agent, rules in tree["cast"]["agents"].items():
        rules[:0] = _rules(draws, agent, agents)
    tree["cast"]["workers"] = {"w1": _worker(draws)}
    steps: list[Tree] = tree["script"]
    at = steps[-1]["at"]
    for step in [*_story(draws, ground), *(_calls(draws, tree, ground) if draws.chance(0.3) else ())]:
        at = round(at + draws.weighted(_GAPS), 2)
        steps.append({"at": at, **step})


def _configure(draws: Draws, gateway: Tree) -> None:
    hands = gateway.setdefault("hands", {})
    hands.setdefault("each", {})[_WORKER] = {"worker": True, "deadline": draws.pick(("10s", "2m"))}
    hands |= draws.fields(
        on_timeout=(0.3, lambda: "silent"),
        on_cancel=(0.3, lambda: "silent"),
        prompt=(0.3, lambda: "A result follows."),
        limits=(0.3, lambda: draws.pick(({"depth": 1}, {"running": 1}, {"open_per_session": 1}, {"inline_result": 5}))),
    )
    for agent in gateway["agents"]:
        agent |= draws.fields(prompt=(0.3, lambda: "You are kind."))


def _rules(draws: Draws, agent: str, agents: list[str]) -> list[Tree]:
    def delegate(hand: str, **more: Any) -> Tree:
        return {"delegate": {"hand": hand, "task": "{text}", "thread": False, **more}}

    answer = {"reply": "re: {text}"}
    some = draws.pick(("hare", "snail", _WORKER))
    do: dict[str, list[Tree]] = {
        # Itself, if there is no other: that is refused.
        "hire": [delegate(draws.pick(agents)), answer],
        "soon": [delegate(some, timeout=draws.pick(("100ms", "4s")), label="soon"), answer],
        "halt": [{"cancel": draws.pick(("last", "soon", "hare"))}, answer],
        "peek": [{"check": True}, {"reply": "{open} open"}],
        "ship": [delegate(_WORKER), {"silent": True}],
        "swarm": [delegate(hand, label=hand) for hand in ("hare", _WORKER, draws.pick(agents))] + [answer],
    }
    deeper = [delegate(draws.pick(("hare", _WORKER, *agents))), {"silent": True}]
    task = draws.weighted({"answer": 4, "deeper": 3, "fail": 1})
    works = {"answer": [{"reply": f"{agent} did {{text}}"}], "deeper": deeper, "fail": [{"fail": "the agent broke"}]}
    return [
        {"when": {"task": "*"}, "do": works[task]},
        *({"when": {"text": f"{name} *"}, "do": actions} for name, actions in do.items()),
    ]


def _worker(draws: Draws) -> Tree:
    return {
        "hand": _WORKER,
        "takes_after": draws.pick(("0s", "2s")),
        "rules": [
            {
                "works": draws.pick(("100ms", "6s")),
                "result": "carried {task}",
                **dict(draws.pick(_MISTAKES)),
                **draws.fields(
                    answers=(0.3, lambda: draws.pick((0, 2))),
                    progress=(0.2, lambda: [{"at": "50ms", "text": "halfway"}]),
                ),
            }
        ],
    }


def _story(draws: Draws, ground: Ground) -> list[Tree]:
    made = list[Tree]()
    for number in range(draws.number(2, 8)):
        match draws.weighted({"say": 10, "operate": 2, "crash": 1}):
            case "operate":
                step = {"do": draws.pick(_OPERATIONS), **draws.fields(outside=(0.5, lambda: True))}
                made.append({"hands": step})
            case "crash":
                made.append({"crash": {"restart_after": draws.pick(("100ms", "3s"))}})
            case _:
                text = f"{draws.pick(_WORDS)} w{number}z"
                made.append({"as": draws.pick(ground.people), "in": draws.pick(ground.places), "say": text})
    return made


def _calls(draws: Draws, tree: Tree, ground: Ground) -> list[Tree]:
    """A person calls, asks for work, and may hang up before it is done."""
    tree["world"]["voice"] = {}
    if draws.chance(0.5):
        tree["gateway"].setdefault("channels", {})["voice"] = {"after_call": draws.pick(ground.platforms)}
    person = draws.pick(ground.people)
    here: Tree = {"as": person, "in": f"voice:default/@{person}"}
    middle: list[Tree] = [
        {**here, "say": "ship v1z"},
        *draws.some([{**here, "hold": True}, {**here, "resume": True}, {**here, "say": "hire v2z"}], 3),
    ]
    ends = [{**here, "hang_up": True}, {**here, "call": "two"}, {**here, "say": "soon v3z"}]
    # Nobody stays on hold forever, and a call that was hung up already is skipped.
    return [{**here, "call": "one"}, *middle, *draws.some(ends, 3, 1), {**here, "hang_up": True}]
