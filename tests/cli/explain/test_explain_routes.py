"""`trunkline explain inbound`, `send` and `key`."""

import re

import pytest

from tests.support.cli.explanations import INBOUND, explanation
from tests.support.paths import ROOT
from trunkline.core.routing.route_rules import TIERS

#: what has a message match in each tier, by the name of the binding
BY_TIER = {
    "binding.peer": ("peer", "--channel discord --kind channel --peer 777"),
    "binding.peer.parent": ("parent", "--channel discord --kind channel --peer 778 --parent 500"),
    "binding.peer.wildcard": ("anybody", "--channel discord --kind direct --peer 1"),
    "binding.guild+roles": ("roles", "--channel discord --kind channel --peer 9 --guild acme --role qa --role dev"),
    "binding.guild": ("guild", "--channel discord --kind channel --peer 9 --guild acme"),
    "binding.team": ("team", "--channel slack --kind channel --peer C1 --team t1"),
    "binding.account": ("account", "--channel slack --kind channel --peer C1 --account work"),
    "binding.channel": ("channel", "--channel telegram --kind group --peer -1007 --account second"),
}


def lines(trunkline, *arguments) -> dict[str, list[str]]:
    """The lines of an answer under their labels."""
    code, out, err = trunkline("explain", *arguments)
    assert (code, err) == (0, "")
    labels = (re.match(r"\S+(?: \S+)*(?=  )", line) for line in out.splitlines())
    width = max(len(label[0]) for label in labels if label) + 2
    found: dict[str, list[str]] = {}
    label = ""
    for line in out.splitlines():
        label = line[:width].strip() or label
        found.setdefault(label, []).append(line[width:])
    return found


# ---------------------------------------------------------------- inbound


def test_there_is_a_message_for_every_tier():
    assert tuple(BY_TIER) == TIERS


@pytest.mark.parametrize("tier", BY_TIER)
def test_a_tier_in_json(trunkline, config, tier):
    name, options = BY_TIER[tier]
    answer = explanation(trunkline, "inbound", *options.split(), "--config", config)
    assert (answer["agent"], answer["matched_by"], answer["binding"]) == ("ops", tier, name)
    assert [one["binding"] for one in answer["candidates"] if one["chosen"]] == [name]
    assert len(answer["candidates"]) == len(TIERS)
    assert all(one["sentence"] and one["tier"].startswith("binding.") for one in answer["candidates"])


@pytest.mark.parametrize("tier", BY_TIER)
def test_a_tier_in_text(trunkline, config, tier):
    name, options = BY_TIER[tier]
    found = lines(trunkline, "inbound", *options.split(), "--config", config)
    assert found["route"] == [f"agent ops, by route rule {name} ({tier})"]
    won = [line for line in found["rules"] if line.startswith("✓")]
    assert [line.split()[1:4] for line in won] == [[name, tier, "matched"]]
    assert len([line for line in found["rules"] if line.startswith("✗ ")]) == len(TIERS) - 1


def test_without_a_configuration_the_default_agent_answers(trunkline):
    found = lines(trunkline, *INBOUND[1:])
    assert found == {
        "message": ["from 1 in discord:default/1 (direct)"],
        "route": ["agent main, by default: No route rule matched: the default agent answers."],
        "session": ["main:discord:default:direct:1"],
        "scope": ["per-account-channel-peer"],
        "answer to": [
            "discord:default/1 (direct)  "
            "reply-to-origin: The answer goes to the exact place that the message came from."
        ],
        "main": ["main:main"],
        "last route": ["its own session remembers where the message came from"],
    }


def test_the_json_has_every_field(trunkline):
    answer = explanation(trunkline, *INBOUND[1:])
    place = {
        "channel": "discord",
        "account": "default",
        "kind": "direct",
        "conversation": "1",
        "thread": None,
        "parent": None,
    }
    assert answer == {
        "asked": {"place": place, "sender": "1", "message": "message-id", "guild": None, "team": None, "roles": []},
        "profile": "trunkline",
        "agent": "main",
        "session_key": "main:discord:default:direct:1",
        "matched_by": "default",
        "binding": None,
        "scope": "per-account-channel-peer",
        "answers": {
            "place": place,
            "reason": "reply-to-origin",
            "sentence": "The answer goes to the exact place that the message came from.",
            "opens_thread_on": None,
        },
        "main_key": "main:main",
        "last_route": "session",
        "shared_as": None,
        "candidates": [],
        "others": 0,
        "notes": [],
    }


def test_answers_go_to_the_thread_that_is_opened_on_the_message(trunkline, tmp_path):
    path = tmp_path / "g.yaml"
    path.write_text("channels: {discord: {auto_thread: true}}\n")
    options = ("--channel", "discord", "--kind", "channel", "--peer", "500", "--message", "901", "--config", path)
    answer = explanation(trunkline, "inbound", *options)
    assert answer["session_key"] == "main:discord:default:channel:901"
    assert answer["answers"]["opens_thread_on"] == "901"
    assert answer["answers"]["place"]["parent"] == "500"
    assert answer["answers"]["reason"] == "reply-in-opened-thread"


def test_a_thread_of_discord_is_a_conversation_and_one_of_slack_is_not(trunkline):
    options = ("--kind", "channel", "--peer", "500", "--thread", "777")
    discord, slack = (explanation(trunkline, "inbound", "--channel", name, *options) for name in ("discord", "slack"))
    assert (discord["session_key"], slack["session_key"]) == (
        "main:discord:default:channel:777",
        "main:slack:default:channel:500:thread:777",
    )
    assert discord["notes"] == ["a thread on discord is a conversation of its own: 777, under 500"]
    assert slack["notes"] == []


def test_a_shared_session_is_shown(trunkline, tmp_path):
    path = tmp_path / "g.json"
    path.write_text('{\n\t"session": {"dmScope": "main", "identityLinks": {"ana": ["discord:1"]}}\n}\n')
    assert explanation(trunkline, *INBOUND[1:], "--config", path)["shared_as"] == "*ana"
    assert explanation(trunkline, *INBOUND[1:], "--config", path)["last_route"] == "main"
    assert lines(trunkline, *INBOUND[1:], "--config", path)["shared"][0].endswith("this sender is *ana")


def test_many_route_rules_are_listed_in_full_or_only_the_related_ones(trunkline, tmp_path):
    path = tmp_path / "many.yaml"
    match = "match: {{channel: discord, peer: {{kind: direct, id: '{}'}}}}"
    path.write_text("bindings:\n" + "".join(f"  - {{agent: main, {match.format(number)}}}\n" for number in range(120)))
    everything = explanation(trunkline, *INBOUND[1:], "--config", path)
    near = explanation(trunkline, *INBOUND[1:], "--config", path, "--near")
    assert (len(everything["candidates"]), everything["others"]) == (120, 0)
    assert (len(near["candidates"]), near["others"]) == (1, 119)
    assert lines(trunkline, *INBOUND[1:], "--config", path, "--near")["rules"][-1].startswith("119 other route rules")


def test_a_profile_of_upstream_speaks_its_keys(trunkline, config):
    for options in ((), ("--config", config)):
        answer = explanation(
            trunkline, "inbound", *BY_TIER["binding.channel"][1].split(), *options, "--profile", "openclaw"
        )
        assert answer["session_key"].startswith("agent:") and answer["session_key"].endswith(":telegram:group:-1007")
        assert answer["profile"] == "openclaw"


# ---------------------------------------------------------------- sends


def test_a_send_shows_place_session_entry_and_steps(trunkline):
    found = lines(trunkline, "send", "channel:C1", "--channel", "slack", "--thread", "1712.55", "--account", "work")
    assert found["place"] == ["slack:work/C1/1712.55 (channel)"]
    assert (found["peer"], found["from"], found["to"]) == (["channel C1"], ["slack:channel:C1"], ["channel:C1"])
    assert (found["chat type"], found["thread"]) == (["channel"], ["1712.55"])
    assert found["base key"] == ["main:slack:work:channel:c1"]
    assert found["session"] == ["main:slack:work:channel:c1:thread:1712.55"]
    assert found["entry"][0] == "channel on slack (slack), account work, thread 1712.55"
    assert [step[:2] for step in found["steps"]] == ["1 ", "2 ", "3 "]


def test_a_send_as_json(trunkline):
    answer = explanation(trunkline, "send", "-1007:topic:7", "--channel", "telegram", "--reply-to", "55")
    assert set(answer) == {
        *("asked", "profile", "agent", "place", "peer", "from", "to", "chat_type", "thread"),
        *("base_key", "session_key", "entry", "steps", "notes"),
    }
    assert answer["asked"] == {
        "target": "-1007:topic:7",
        "channel": "telegram",
        "account": None,
        "kind": None,
        "thread": None,
        "reply_to": "55",
    }
    assert answer["session_key"] == "main:telegram:default:group:-1007:topic:7"
    assert (answer["place"]["conversation"], answer["place"]["thread"]) == ("-1007", "7")
    assert answer["peer"]["kind"] == "group"
    assert answer["entry"]["originating_to"] == answer["entry"]["to"] == "telegram:-1007:topic:7"


def test_the_same_place_has_the_same_session_in_both_directions(trunkline):
    sent = explanation(trunkline, "send", "channel:777", "--channel", "discord")
    options = ("--channel", "discord", "--kind", "channel", "--peer", "777")
    assert sent["session_key"] == explanation(trunkline, "inbound", *options)["session_key"]


@pytest.mark.parametrize(("kind", "seen"), [("user", "direct"), ("channel", "channel")])
def test_a_kind_says_what_a_bare_id_is(trunkline, kind, seen):
    assert explanation(trunkline, "send", "12", "--channel", "discord", "--kind", kind)["place"]["kind"] == seen


def test_the_agent_is_that_of_the_configuration_or_the_one_that_is_named(trunkline, config):
    named = ("--config", config, "--agent", "ops")
    assert explanation(trunkline, "send", "user:1", "--channel", "discord", *named)["agent"] == "ops"
    assert explanation(trunkline, "send", "user:1", "--channel", "discord", "--config", config)["agent"] == "main"


@pytest.mark.parametrize("command", [("send", "x"), ("inbound", "--kind", "direct", "--peer", "x")])
def test_an_unknown_channel_has_the_generic_rules_and_a_note(trunkline, tmp_path, command):
    other = "the generic rules apply"
    assert explanation(trunkline, *command, "--channel", "carrier-pigeon")["notes"] == [
        f"channel 'carrier-pigeon' is unknown here: {other}"
    ]
    (typo,) = explanation(trunkline, *command, "--channel", "Telegrm")["notes"]
    assert typo == "channel 'telegrm' is unknown here: did you mean 'telegram'? Otherwise the generic rules apply"
    assert lines(trunkline, *command, "--channel", "telegrm")["note"] == [typo]
    path = tmp_path / "g.yaml"
    path.write_text("channels: {telegrm: {}}\nbindings: [{agent: main, match: {channel: pigeon}}]\n")
    for known in ("telegrm", "pigeon"):
        assert explanation(trunkline, *command, "--channel", known, "--config", path)["notes"] == []


# ---------------------------------------------------------------- keys


@pytest.mark.parametrize(
    ("text", "form", "key"),
    [
        ("main:discord:default:direct:1", "v1", "main:discord:default:direct:1"),
        (" Main:Discord:Default:DIRECT:1", "v1, written in another way", "main:discord:default:direct:1"),
        ("main:discord:default:dm:1", "v1, with an old word", "main:discord:default:direct:1"),
        ("agent:main:telegram:group:-100:topic:7", "openclaw", "main:telegram:*:group:-100:topic:7"),
        ("agent:main:main", "openclaw", "main:main"),
        ("main:main", "v1", "main:main"),
    ],
)
def test_a_key_is_read_in_any_form(trunkline, text, form, key):
    answer = explanation(trunkline, "key", text)
    assert (answer["form"], answer["key"], answer["text"]) == (form, key, text)
    assert answer["main"] is key.endswith(":main")
    # What is printed can be read again, and is the same key.
    assert explanation(trunkline, "key", answer["key"])["key"] == key


def test_a_key_is_taken_apart(trunkline):
    found = lines(trunkline, "key", "agent:ops:slack:work:direct:u1:thread:55.1")
    assert found == {
        "read": ["“agent:ops:slack:work:direct:u1:thread:55.1” as openclaw"],
        "key": ["ops:slack:work:direct:u1:thread:55.1"],
        "agent": ["ops"],
        "channel": ["slack"],
        "account": ["work"],
        "kind": ["direct"],
        "peer": ["u1"],
        "thread": ["55.1"],
        "openclaw": ["agent:ops:slack:work:direct:u1:thread:55.1"],
    }
    assert lines(trunkline, "key", "ops:main")["is"] == ["the main session of the agent"]
    linked = lines(trunkline, "key", "ops:*:*:direct:*ana")
    assert linked["peer"] == ["ana (a name for linked identities)"]
    assert linked["channel"] == linked["account"] == ["omitted"]
    assert lines(trunkline, "key", "ops:discord:main:guild:acme:channel:1")["guild"] == ["acme"]


def test_parts_that_the_other_form_loses_are_listed(trunkline):
    answer = explanation(trunkline, "key", "main:signal:work:group:%41bc")
    # March folds the ids of groups, August does not.
    assert answer["openclaw"] == "agent:main:signal:group:abc"
    assert answer["openclaw_2026_08"] == "agent:main:signal:group:Abc"
    assert answer["openclaw_loses"] == ["account"]
    found = lines(trunkline, "key", "main:signal:work:group:%41bc")
    assert found["openclaw"][1:] == ["agent:main:signal:group:Abc  (since August 2026)", "without: account"]


# ---------------------------------------------------------------- the page about it


@pytest.mark.parametrize(
    ("head", "question"),
    [
        ("An inbound message", INBOUND[1:]),
        ("A send", ("send", "user:1", "--channel", "discord")),
        ("A key", ("key", "main:main")),
    ],
)
def test_the_page_names_every_field_of_the_json(trunkline, head, question):
    page = (ROOT / "docs" / "explain.md").read_text("utf-8")
    section = page.split(f"\n## {head}\n")[1].split("\n## ")[0]
    named = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert named == ["trunkline_explain", *explanation(trunkline, *question)]
