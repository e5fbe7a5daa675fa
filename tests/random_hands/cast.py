"""Agents, hands and workers around delegated work. What a text begins with chooses what an agent does."""

from typing import Any

from tests.random_hands.draws import Draws

Tree = dict[str, Any]
#: in results that nobody may ever see
FORGED = "FORGED"


def make_cast(seed: int) -> Tree:
    """The agent that people write to, the agent that is a hand, and two functions."""
    draws = Draws(seed, "hand cast")
    hands = {"hare": _function(draws, ("50ms", "1s")), "snail": _function(draws, ("4s", "20s", "50s"))}
    main = [{"when": {"task": "*"}, "do": [{"reply": "main knows {text}"}]}, *_answers(draws), *_asked(draws)]
    return {"agents": {"main": main, "clerk": _clerk(draws)}, "hands": hands}


def _function(draws: Draws, takes: tuple[str, ...]) -> Tree:
    halfway = [{"at": "500ms", "text": "half of {task}"}]
    return {"takes": draws.pick(takes), "result": "done {task}", **draws.fields(progress=(0.3, lambda: halfway))}


def make_workers(seed: int) -> Tree:
    """Workers in processes of their own, some of which misbehave with some tasks."""
    draws = Draws(seed, "hand workers")
    ways: tuple[Tree, ...] = (
        {"result": "carried {task}", "answers": 2},
        {"result": f"{FORGED} {{task}}", "ticket": "wrong"},
        {"result": f"{FORGED} {{task}}", "ticket": "none"},
        {"result": f"{FORGED} {{task}}", "names": "other"},
        {"result": f"{FORGED} {{task}}", "names": "unknown"},
        {"fails": "no wheels for {task}"},
        {"answers": 0},
    )

    def worker() -> Tree:
        rules = [{"text": f"*q{draws.number(1, 6)}z*", **draws.pick(ways)} for _ in range(draws.number(0, 2))]
        usual = {"works": draws.pick(("200ms", "3s", "15s")), "result": "carried {task}"}
        return {"hand": "courier", "takes_after": draws.pick(("0s", "1s")), "rules": [*rules, usual]}

    return {name: worker() for name in ("w1", "w2")[: draws.number(1, 2)]}


def _answers(draws: Draws) -> list[Tree]:
    """What the agent does with a result."""
    said = {"reply": "back {hand} {outcome}: {result}"}
    other: list[Tree] = [
        {"when": {"callback": "hare"}, "do": [{"think": draws.pick(("1s", "4s"))}, said]},
        {"when": {"callback": "snail", "outcome": "ok"}, "do": [{"send": {"text": "note: {result}"}}, said]},
        {"when": {"callback": "courier"}, "do": [{"send": {"text": "back: {result}"}}, {"reply": "back: {result}"}]},
        {"when": {"callback": "snail"}, "do": [{"silent": True}]},
        {"when": {"callback": "clerk"}, "do": [{"reply": "NO_REPLY"}]},
        {"when": {"callback": "hare"}, "do": [{"fail": "the agent broke"}]},
    ]
    return [*draws.some(other, 2), {"when": {"callback": "*"}, "do": [said]}]


def _delegate(hand: str, **more: Any) -> Tree:
    return {"delegate": {"hand": hand, "task": "{text}", **more}}


def _asked(draws: Draws) -> list[Tree]:
    """What the agent does with a message, by its first word."""
    hands = ["hare", "snail", "clerk", "courier"]
    first, second = draws.pick(hands), draws.pick(hands)
    answer = {"reply": "on it: {text}"}
    do: dict[str, list[Tree]] = {
        "one": [_delegate(first), answer],
        "two": [_delegate(first), _delegate(second), answer],
        "all": [*(_delegate(hand, label=hand) for hand in hands), answer],
        "late": [{"think": draws.pick(("1s", "15s"))}, _delegate(second), answer],
        "mute": [_delegate(second), {"silent": True}],
        "note": [{"send": {"text": "wait: {text}"}}, _delegate(first), {"silent": True}],
        "soon": [_delegate(first, timeout=draws.pick(("100ms", "5s")), label="soon"), answer],
        "deep": [_delegate("clerk"), answer],
        "round": [_delegate("clerk"), answer],
        "stop": [{"cancel": draws.pick(("last", "soon", "courier"))}, answer],
        "check": [{"check": True}, {"reply": "{open} open: {text}"}],
    }
    return [
        *({"when": {"text": f"{name} *"}, "do": actions} for name, actions in do.items()),
        {"do": [{"reply": "re: {text}"}]},
    ]


def _clerk(draws: Draws) -> list[Tree]:
    """An agent as a hand: it works by itself, has other hands work, or asks back."""
    did: Tree = {"reply": "clerk did {text}"}
    deep = draws.pick(("hare", "snail", "courier"))
    return [
        {"when": {"callback": "*"}, "do": [{"reply": "clerk heard {result}"}]},
        {"when": {"task": "*", "text": "deep *"}, "do": [_delegate(deep), {"silent": True}]},
        {"when": {"task": "*", "text": "round *"}, "do": [_delegate("main"), {"silent": True}]},
        *draws.some([{"when": {"task": "*", "text": "one *"}, "do": [{"fail": "the clerk broke"}]}], 1),
        {"when": {"task": "*"}, "do": [*draws.some([{"think": "3s"}], 1), did]},
    ]
