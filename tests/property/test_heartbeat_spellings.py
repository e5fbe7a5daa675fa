"""However an agent spells `HEARTBEAT_OK`, and whatever stands beside it, no invariant accuses a sound gateway.

What the gateway takes for the token is judged in `test_heartbeat.py`; here a reading that may differ from the judge's.
"""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trunkline.sim import Status, run_scenario
from trunkline.sim.scenario import load_text

TOKEN = "HEARTBEAT_OK"
#: the token as models write it, and words that only look like it
SPELLINGS = st.one_of(
    st.just(TOKEN),
    st.sampled_from(
        [f"**{TOKEN}**", f"`{TOKEN}`", f"_{TOKEN}_", f"~~{TOKEN}~~", f"<b>{TOKEN}</b>", f"[{TOKEN}](http://x)"]
    ),
    st.sampled_from(
        [f"{TOKEN}.", f"{TOKEN}!!", f"{TOKEN}!?!?!", f"{TOKEN})", f"“{TOKEN}”", f"{TOKEN} {TOKEN}", f"- {TOKEN}"]
    ),
    st.sampled_from([f"{TOKEN}AY", f"x_{TOKEN}", f"{TOKEN}_1", f"é{TOKEN}", f"{TOKEN}é", TOKEN.lower()]),
)
WORDS = st.one_of(
    st.sampled_from(["ok", "😀😀😀", "x" * 40, "y" * 310, "naïve", "(see log)", "*", "_", "--", "!", "..."]),
    st.sampled_from(["**bold** words", "one\ntwo", "1. one\n2. two", "<i>a</i>", "the pump stands still"]),
    st.just("the pump has stood still since the morning, and nobody has seen why"),
)
BLANKS = st.sampled_from(["", " ", "\n", "  ", "\t", "\u00a0", "\u2009", "\u3000", "\u200b", "&nbsp;"])
ANSWERS = st.lists(st.tuples(BLANKS, SPELLINGS | WORDS, BLANKS), min_size=1, max_size=3).map(
    lambda pieces: "".join("".join(piece) for piece in pieces)
)
SETTINGS = st.fixed_dictionaries(
    {"every": st.just("30m"), "ack_max_chars": st.sampled_from([0, 5, 30, 300])},
    optional={"response_prefix": st.sampled_from(["[bot]", "»", "HEARTBEAT"]), "include_reasoning": st.booleans()},
)
SHOWN = st.fixed_dictionaries({}, optional={"show_ok": st.booleans(), "show_alerts": st.booleans()})
CHANNELS = st.fixed_dictionaries({"heartbeat": SHOWN}, optional={"text_limit": st.sampled_from([20, 60])})
IDS = {"telegram": "100200300", "slack": "U0ANA0001", "matrix": "@ana:example.org"}


def told(answers: list[str], platform: str, settings: dict[str, Any], channel: dict[str, Any]) -> str:
    """A scenario in which each agent has an answer of its own to its heartbeats."""
    agents = {f"a{number}": answer for number, answer in enumerate(answers)}
    tree = {
        "scenario": 1,
        "title": "heartbeats",
        "gateway": {
            "heartbeat": settings,
            "control": {"owners": [f"{platform}:{IDS[platform]}"]},
            "channels": {platform: channel},
            "agents": [{"id": name, "heartbeat": {"every": "30m"}} for name in agents],
        },
        "world": {"people": {"ana": {"ids": {platform: IDS[platform]}}}, platform: {}},
        "cast": {
            "agents": {
                name: [
                    {"when": {"heartbeat": True}, "do": [{"reply": answer}]},
                    {"may_miss": True, "do": [{"silent": True}]},
                ]
                for name, answer in agents.items()
            }
        },
        # Two runs, so that the second one is a repetition.
        "script": [{"at": "70m", "note": "over"}],
    }
    return json.dumps(tree, ensure_ascii=False)


@given(st.lists(ANSWERS, min_size=3, max_size=5), st.sampled_from(sorted(IDS)), SETTINGS, CHANNELS)
def test_no_spelling_of_a_silent_heartbeat_is_held_against_the_gateway(answers, platform, settings, channel):
    result = run_scenario(load_text(told(answers, platform, settings, channel), "heartbeats.yaml"))
    assert {verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED} == set()
    assert any(event.kind == "heartbeat.ended" for event in result.trace.events)
