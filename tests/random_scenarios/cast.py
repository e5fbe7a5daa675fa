"""Agents, hands and hooks of a random scenario. The first word of a message chooses what an agent does."""

from copy import deepcopy
from typing import Any

from tests.random_scenarios.acts import ASKED, change_of, changes_of_last, other_act
from tests.random_scenarios.beats import beat_rules
from tests.random_scenarios.draws import Draws
from tests.random_scenarios.texts import odd
from tests.random_scenarios.world import Ground

#: targets that agents and clients write, most of which name nothing
TARGETS = ("999", "+42", "@ana", "channel:C1", "!x:example.org", "#ops", "user:1", "")
HANDS = ("hare", "snail")
#: first words of messages whose agents tell no other place of them
QUIET = ("many", "think", "same", "fail", "quiet", "long", "blank", "files")
#: first words of messages that agents have rules for
WORDS = (
    "many",
    "cross",
    "target",
    "work",
    "crew",
    "think",
    "same",
    "fail",
    "quiet",
    "memory",
    "long",
    "blank",
    "files",
    "ask",
    "amend",
    "wave",
    "touch",
    "tool",
)


def make_cast(
    seed: int, ground: Ground, agents: list[str], *, threads: list[str], said: dict[str, str]
) -> dict[str, Any]:
    """`threads`: places of threads that the gateway may open. `said`: ids of people's messages, and their places."""
    draws = Draws(seed, "cast")
    rules = {name: _agent(draws, ground, threads, said) for name in agents}
    made: dict[str, Any] = {"agents": {name: [*beat_rules(seed, ground), *own] for name, own in rules.items()}}
    made["hands"] = {"hare": _hand(draws, ("100ms", "500ms", "2s")), "snail": _hand(draws, ("5s", "40s", "3m"))}
    if draws.chance(0.35):
        made["hooks"] = {f"h{number}": _hook(draws, ground, said) for number in range(draws.number(1, 3))}
    return made


def _agent(draws: Draws, ground: Ground, threads: list[str], said: dict[str, str]) -> list[dict[str, Any]]:
    rules = [
        {"when": {"callback": "*"}, "do": _callback(draws, ground)},
        {"when": {"wake": True}, "do": _wake(draws, ground)},
        *({"when": {"text": f"{word}*"}, "do": _said(draws, ground, word, threads, said)} for word in WORDS),
    ]
    if draws.chance(0.15):
        rules.insert(0, {"when": {"person": draws.pick(ground.people)}, "do": [{"reply": "for you: {text}"}]})
    return [*rules, {"do": [{"reply": "re: {text}" + odd(draws)}]}]


def _send(draws: Draws, ground: Ground, text: str, threads: list[str]) -> dict[str, Any]:
    send: dict[str, Any] = {"text": text, "to": draws.pick([*ground.places, *threads])}
    if draws.chance(0.1):
        send["session"] = draws.pick(ground.places)
    return {"send": send}


def _target(draws: Draws, ground: Ground, text: str) -> dict[str, Any]:
    platform = draws.pick(ground.platforms)
    return {
        "text": text,
        "target": draws.pick(TARGETS),
        **draws.fields(
            channel=(0.8, lambda: platform),
            account=(0.2, lambda: draws.pick(ground.accounts[platform])),
            thread=(0.2, lambda: draws.pick(("1", "t1"))),
        ),
    }


def _callback(draws: Draws, ground: Ground) -> list[dict[str, Any]]:
    kind = draws.weighted({"reply": 5, "send": 2, "think": 1, "silent": 1, "fail": 1, "cross": 1})
    reply = {"reply": "back {hand}: {outcome} {result}" + odd(draws)}
    return {
        "reply": [reply],
        "send": [{"send": {"text": "note {n} of {hand}"}}, reply],
        "think": [{"think": draws.pick(("2s", "20s"))}, reply],
        "silent": [{"silent": True}],
        "fail": [{"fail": "the callback failed"}],
        "cross": [_send(draws, ground, "news of {hand} {n}", []), reply],
    }[kind]


def _wake(draws: Draws, ground: Ground) -> list[dict[str, Any]]:
    if draws.chance(0.5):
        return [_send(draws, ground, "woken {n}", []), {"silent": True}]
    return [{"reply": "nobody hears this"}]


def _said(draws: Draws, ground: Ground, word: str, threads: list[str], said: dict[str, str]) -> list[dict[str, Any]]:
    delegate: dict[str, Any] = {"hand": draws.pick(HANDS), "task": "{text}"}
    delegate |= draws.fields(thread=(0.3, lambda: draws.chance(0.5)))
    end = draws.weighted({"reply": 5, "silent": 2, "fail": 1})
    ends: dict[str, dict[str, Any]] = {
        "reply": {"reply": "re: {text}" + odd(draws)},
        "silent": {"silent": True},
        "fail": {"fail": "the agent broke"},
    }
    parts = [{"send": {"text": f"part {number} {{text}}"}} for number in range(draws.number(1, 4))]
    return {
        "many": [*parts, ends["reply"]],
        "cross": [_send(draws, ground, "news {n} {text}", threads), ends["reply"]],
        "target": [{"send": _target(draws, ground, "news {n} {text}")}, ends["reply"]],
        "work": [{"delegate": delegate}, ends[end]],
        "crew": [{"delegate": delegate}, {"delegate": {**delegate, "hand": "hare"}}, ends["reply"]],
        "think": [{"think": draws.pick(("1s", "7s", "40s"))}, ends["reply"]],
        "same": [{"send": {"text": "re: {text}"}}, {"reply": "re: {text}"}],
        "fail": [*draws.some(parts, 1), ends["fail"]],
        "quiet": [*draws.some(parts, 1), ends["silent"]],
        "memory": [{"reply": "turn {n}" if ground.secrets else "{memory}"}],
        "long": [{"reply": "re: {text} " + draws.pick(("word " * 60, "x" * 300, "line\n\n" * 20))}],
        "blank": [{"reply": draws.pick(("\n", " ", "\u200b"))}],
        "files": [{"send": {"text": "two {n}"}}, ends[end]],
        "ask": [{"act": deepcopy(draws.pick(ASKED))}, ends[end]],
        "amend": [
            {"send": {"text": "first {n}"}},
            *changes_of_last(draws),
            ends[end],
        ],
        "wave": [{"act": {"action": "react", "with": {"messageId": "1", "emoji": "💡"}}}, ends[end]],
        "touch": [_touch(draws, said), ends[end]],
        "tool": [other_act(draws, ground), ends[end]],
    }[word]


def _touch(draws: Draws, said: dict[str, str]) -> dict[str, Any]:
    """A change of a person's message, by its place: an id alone is one of the conversation that the turn works in."""
    message = draws.pick(list(said))
    return {"act": {**change_of(draws, message)["act"], "to": said[message]}}


def _hand(draws: Draws, takes: tuple[str, ...]) -> dict[str, Any]:
    answer = {"fails": "the hand broke"} if draws.chance(0.2) else {"result": "done {task}" + odd(draws)}
    return {"takes": draws.pick(takes), **answer}


def _hook(draws: Draws, ground: Ground, said: dict[str, str]) -> dict[str, Any]:
    def when() -> dict[str, Any]:
        return draws.fields(
            text=(0.4, lambda: draws.pick(("*1*", "re:*", "*news*"))),
            kind=(0.2, lambda: draws.pick(("reply", "tool", "announce", "send"))),
            **{"in": (0.2, lambda: draws.pick(ground.places))},
        )

    made = draws.fields(when=(0.6, when), takes=(0.3, lambda: draws.pick(("50ms", "2s", "20s"))))
    if draws.chance(0.3):
        return {"on": "sent", **made, **draws.fields(fail=(0.3, lambda: "the hook broke"))}
    made |= draws.fields(priority=(0.3, lambda: draws.number(-1, 1)), required=(0.2, lambda: True))
    answers: list[dict[str, Any]] = [
        {},
        {"change": "{text}" + odd(draws)},
        {"change": "{text} ({original})"},
        {"change": ""},
        {"cancel": "not today"},
        {"fail": "the hook broke"},
        {"nonsense": True},
        {"media": draws.pick(([], ["https://example.org/h.png"]))},
        {"quote": draws.pick(("", draws.pick(list(said))))},
    ]
    # What is secret stays where it was said.
    elsewhere: list[dict[str, Any]] = [
        {"to": draws.pick(ground.places)},
        {"to": draws.pick(ground.places), "change": "{text} rerouted"},
        {"target": draws.pick(TARGETS)},
    ]
    return made | draws.pick(answers if ground.secrets else [*answers, *elsewhere])
