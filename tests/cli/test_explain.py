"""`trunkline explain`: the decisions of the running gateway, asked from outside."""

import json
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.support.paths import ROOT
from trunkline.app.explain.decide import InboundQuestion, decide_inbound
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import BOUND_TIER
from trunkline.core.events import Event
from trunkline.core.events.delivery import TargetResolved
from trunkline.core.events.gateway import ConfigReloaded, InboundReceived, RouteDecided
from trunkline.core.routing.route_rules import TIERS
from trunkline.sim import ScenarioFile, find_scenarios, load_scenario, run_scenario, scenario_home

CONFIG = """\
agents: [{id: main}, {id: ops}]
bindings:
  - {agent: ops, name: peer, match: {channel: discord, peer: {kind: channel, id: "777"}}}
  - {agent: ops, name: parent, match: {channel: discord, peer: {kind: channel, id: "500"}}}
  - {agent: ops, name: anybody, match: {channel: discord, peer: {kind: direct, id: "*"}}}
  - {agent: ops, name: roles, match: {channel: discord, guild: acme, roles: [dev]}}
  - {agent: ops, name: guild, match: {channel: discord, guild: acme}}
  - {agent: ops, name: team, match: {channel: slack, team: t1}}
  - {agent: ops, name: account, match: {channel: slack, account: work}}
  - {agent: ops, name: channel, match: {channel: telegram, account: "*"}}
"""
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
INBOUND = ("explain", "inbound", "--channel", "discord", "--kind", "direct", "--peer", "1")


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "gateway.yaml"
    path.write_text(CONFIG)
    return path


def told(trunkline, *arguments) -> dict:
    """The JSON of an answer."""
    code, out, err = trunkline("explain", *arguments, "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer.pop("trunkline_explain") == 1
    return answer


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
def test_a_tier_is_told_as_json(trunkline, config, tier):
    name, options = BY_TIER[tier]
    answer = told(trunkline, "inbound", *options.split(), "--config", config)
    assert (answer["agent"], answer["matched_by"], answer["binding"]) == ("ops", tier, name)
    assert [one["binding"] for one in answer["candidates"] if one["chosen"]] == [name]
    assert len(answer["candidates"]) == len(TIERS)
    assert all(one["sentence"] and one["tier"].startswith("binding.") for one in answer["candidates"])


@pytest.mark.parametrize("tier", BY_TIER)
def test_a_tier_is_told_as_text(trunkline, config, tier):
    name, options = BY_TIER[tier]
    found = lines(trunkline, "inbound", *options.split(), "--config", config)
    assert found["route"] == [f"agent ops, by binding {name} ({tier})"]
    won = [line for line in found["bindings"] if line.startswith("✓")]
    assert [line.split()[1:4] for line in won] == [[name, tier, "matched"]]
    assert len([line for line in found["bindings"] if line.startswith("✗ ")]) == len(TIERS) - 1


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
    answer = told(trunkline, *INBOUND[1:])
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
    answer = told(trunkline, "inbound", *options)
    assert answer["session_key"] == "main:discord:default:channel:901"
    assert answer["answers"]["opens_thread_on"] == "901"
    assert answer["answers"]["place"]["parent"] == "500"
    assert answer["answers"]["reason"] == "reply-in-opened-thread"


def test_a_thread_of_discord_is_a_conversation_and_one_of_slack_is_not(trunkline):
    options = ("--kind", "channel", "--peer", "500", "--thread", "777")
    discord, slack = (told(trunkline, "inbound", "--channel", name, *options) for name in ("discord", "slack"))
    assert (discord["session_key"], slack["session_key"]) == (
        "main:discord:default:channel:777",
        "main:slack:default:channel:500:thread:777",
    )
    assert discord["notes"] == ["a thread on discord is a conversation of its own: 777, under 500"]
    assert slack["notes"] == []


def test_a_session_that_people_share_is_told(trunkline, tmp_path):
    path = tmp_path / "g.json"
    path.write_text('{\n\t"session": {"dmScope": "main", "identityLinks": {"ana": ["discord:1"]}}\n}\n')
    assert told(trunkline, *INBOUND[1:], "--config", path)["shared_as"] == "*ana"
    assert told(trunkline, *INBOUND[1:], "--config", path)["last_route"] == "main"
    assert lines(trunkline, *INBOUND[1:], "--config", path)["shared"][0].endswith("this is *ana")


def test_all_of_many_bindings_are_told_or_those_that_are_near(trunkline, tmp_path):
    path = tmp_path / "many.yaml"
    match = "match: {{channel: discord, peer: {{kind: direct, id: '{}'}}}}"
    path.write_text("bindings:\n" + "".join(f"  - {{agent: main, {match.format(number)}}}\n" for number in range(120)))
    everything = told(trunkline, *INBOUND[1:], "--config", path)
    near = told(trunkline, *INBOUND[1:], "--config", path, "--near")
    assert (len(everything["candidates"]), everything["others"]) == (120, 0)
    assert (len(near["candidates"]), near["others"]) == (1, 119)
    assert lines(trunkline, *INBOUND[1:], "--config", path, "--near")["bindings"][-1].startswith("119 other bindings")


def test_a_profile_of_upstream_speaks_its_keys(trunkline, config):
    for options in ((), ("--config", config)):
        answer = told(trunkline, "inbound", *BY_TIER["binding.channel"][1].split(), *options, "--profile", "openclaw")
        assert answer["session_key"].startswith("agent:") and answer["session_key"].endswith(":telegram:group:-1007")
        assert answer["profile"] == "openclaw"


# ---------------------------------------------------------------- sends


def test_a_send_tells_place_session_entry_and_steps(trunkline):
    found = lines(trunkline, "send", "channel:C1", "--channel", "slack", "--thread", "1712.55", "--account", "work")
    assert found["place"] == ["slack:work/C1/1712.55 (channel)"]
    assert (found["peer"], found["from"], found["to"]) == (["channel C1"], ["slack:channel:C1"], ["channel:C1"])
    assert (found["chat type"], found["thread"]) == (["channel"], ["1712.55"])
    assert found["base key"] == ["main:slack:work:channel:c1"]
    assert found["session"] == ["main:slack:work:channel:c1:thread:1712.55"]
    assert found["entry"][0] == "channel on slack (slack), account work, thread 1712.55"
    assert [step[:2] for step in found["steps"]] == ["1 ", "2 ", "3 "]


def test_a_send_as_json(trunkline):
    answer = told(trunkline, "send", "-1007:topic:7", "--channel", "telegram", "--reply-to", "55")
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
    sent = told(trunkline, "send", "channel:777", "--channel", "discord")
    options = ("--channel", "discord", "--kind", "channel", "--peer", "777")
    assert sent["session_key"] == told(trunkline, "inbound", *options)["session_key"]


@pytest.mark.parametrize(("kind", "seen"), [("user", "direct"), ("channel", "channel")])
def test_a_kind_says_what_a_bare_id_is(trunkline, kind, seen):
    assert told(trunkline, "send", "12", "--channel", "discord", "--kind", kind)["place"]["kind"] == seen


def test_the_agent_is_that_of_the_configuration_or_the_one_that_is_named(trunkline, config):
    named = ("--config", config, "--agent", "ops")
    assert told(trunkline, "send", "user:1", "--channel", "discord", *named)["agent"] == "ops"
    assert told(trunkline, "send", "user:1", "--channel", "discord", "--config", config)["agent"] == "main"


@pytest.mark.parametrize("command", [("send", "x"), ("inbound", "--kind", "direct", "--peer", "x")])
def test_an_unknown_channel_has_the_generic_rules_and_a_note(trunkline, tmp_path, command):
    other = "the generic rules apply"
    assert told(trunkline, *command, "--channel", "carrier-pigeon")["notes"] == [
        f"channel 'carrier-pigeon' is unknown here: {other}"
    ]
    (typo,) = told(trunkline, *command, "--channel", "Telegrm")["notes"]
    assert typo == "channel 'telegrm' is unknown here: did you mean 'telegram'? Otherwise the generic rules apply"
    assert lines(trunkline, *command, "--channel", "telegrm")["note"] == [typo]
    path = tmp_path / "g.yaml"
    path.write_text("channels: {telegrm: {}}\nbindings: [{agent: main, match: {channel: pigeon}}]\n")
    for known in ("telegrm", "pigeon"):
        assert told(trunkline, *command, "--channel", known, "--config", path)["notes"] == []


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
    answer = told(trunkline, "key", text)
    assert (answer["form"], answer["key"], answer["text"]) == (form, key, text)
    assert answer["main"] is key.endswith(":main")
    # What is printed can be read again, and is the same key.
    assert told(trunkline, "key", answer["key"])["key"] == key


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
    assert linked["peer"] == ["ana (the name of linked people)"]
    assert linked["channel"] == linked["account"] == ["left out"]
    assert lines(trunkline, "key", "ops:discord:main:guild:acme:channel:1")["guild"] == ["acme"]


def test_what_the_other_form_cannot_say_is_told(trunkline):
    answer = told(trunkline, "key", "main:signal:work:group:%41bc")
    # March folds the ids of groups, August does not.
    assert answer["openclaw"] == "agent:main:signal:group:abc"
    assert answer["openclaw_2026_08"] == "agent:main:signal:group:Abc"
    assert answer["openclaw_loses"] == ["account"]
    found = lines(trunkline, "key", "main:signal:work:group:%41bc")
    assert found["openclaw"][1:] == ["agent:main:signal:group:Abc  (since August 2026)", "it does not tell: account"]


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
    assert named == ["trunkline_explain", *told(trunkline, *question)]


# ---------------------------------------------------------------- wrong use

SEND = ("explain", "send")
WRONG = {
    "no place": ((*SEND, "", "--channel", "slack"), "Not a target: '' on slack: it is empty. Accepted: "),
    "a control character": ((*SEND, "a\nb", "--channel", "telegram"), "it has control characters. Accepted: "),
    "ambiguous": ((*SEND, "12", "--channel", "discord"), "Ambiguous target: '12' on discord: write user:12"),
    "no such target": ((*SEND, "general", "--channel", "discord"), "'general' on discord"),
    "no channel": ((*SEND, "x", "--channel", " "), "the channel is missing"),
    "no such agent": ((*SEND, "user:1", "--channel", "discord", "--agent", "opz"), "no agent 'opz'; there are: main"),
    "a channel is needed": ((*SEND, "x"), "--channel"),
    "a target is needed": ((*SEND, "--channel", "discord"), "TARGET"),
    "no such kind": ((*SEND, "x", "--channel", "discord", "--kind", "house"), "house"),
    "a peer is needed": (("explain", "inbound", "--channel", "discord", "--kind", "direct"), "--peer"),
    "a blank peer": (
        ("explain", "inbound", "--channel", "discord", "--kind", "direct", "--peer", " "),
        "--peer is empty",
    ),
    "no such profile": ((*INBOUND, "--profile", "mine"), "mine"),
    "no configuration": ((*INBOUND, "--config", "none.yaml"), "none.yaml: cannot be read"),
    "a bad configuration": ((*INBOUND, "--config", "bad.yaml"), "bad.yaml:1:30: agents[0].default: expected true"),
    "no key": (("explain", "key", "what is this"), "Not a session key: 'what is this': expected one of <agent>:main"),
    "an empty key": (("explain", "key", ""), "Not a session key"),
    "no such command": (("explain", "snd"), "snd"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_wrong_use_is_told_and_exits_with_2(trunkline, tmp_path, monkeypatch, arguments, message, as_json):
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text("agents: [{id: main, default: 7}]\n")
    code, out, err = trunkline(*arguments, *(["--json"] if as_json else []))
    assert (code, out) == (2, "")
    assert err.startswith("trunkline: ") and message in err
    assert "Traceback" not in err


def test_wrong_use_leads_to_the_help_of_the_command(trunkline):
    assert trunkline(*SEND, "x")[2].endswith("Try: trunkline explain send --help\n")


@pytest.mark.parametrize("command", [(), ("inbound",), ("send",), ("key",)])
def test_there_is_help(trunkline, command):
    code, out, err = trunkline("explain", *command, "--help")
    assert (code, err) == (0, "")
    assert "Usage: trunkline explain" in out


def test_no_screen_and_without_a_file_no_simulator_is_imported(config):
    def loaded(*arguments: str) -> str:
        code = (
            "import sys\nfrom trunkline.app.cli import main\n"
            f"sys.argv = {['trunkline', *arguments]!r}\nassert main() == 0\n"
            "print([name for name in ('textual', 'faker', 'trunkline.sim') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
        return done.stdout.splitlines()[-1]

    assert loaded(*INBOUND) == loaded(*SEND, "user:1", "--channel", "discord") == "[]"
    assert loaded("explain", "key", "main:main") == "[]"
    assert loaded(*INBOUND, "--config", str(config)) == "['trunkline.sim']"


# ---------------------------------------------------------------- asked and lived are the same

SCENARIOS = find_scenarios((scenario_home(),))


def asked(file: ScenarioFile, received: InboundReceived) -> InboundQuestion:
    """The question of a message that a run took: from its events, and what the world knows of who wrote it."""
    world, place = file.scenario.world, received.address
    platform = world.platforms[place.channel]
    person = world.people.get(received.peer.name)
    return InboundQuestion(
        channel=place.channel,
        kind=place.kind,
        peer=place.conversation,
        account=place.account,
        thread=place.thread,
        parent=place.parent,
        guild=platform.guild,
        role=() if person is None else person.roles,
        sender=received.peer.id,
        message=received.message_id,
    )


def routed(file: ScenarioFile) -> list[tuple[GatewayConfig, InboundReceived, RouteDecided]]:
    """Every route of a run, with the message and the configuration that it was decided for."""
    configs = iter((file.scenario.gateway, *file.reloads))
    config, messages, found = next(configs), dict[str | None, InboundReceived](), []
    for event in run_scenario(file).trace.events:
        match event:
            case Event(body=ConfigReloaded()):
                config = next(configs)
            case Event(body=InboundReceived() as received, inbound=inbound):
                messages[inbound] = received
            case Event(body=RouteDecided() as decided, inbound=inbound):
                found.append((config, messages[inbound], decided))
            case _:
                pass
    return found


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_what_is_explained_is_what_is_lived(path):
    file = load_scenario(path)
    for config, received, lived in routed(file):
        if lived.matched_by == BOUND_TIER:
            # What is bound is not in the configuration, which is all that is asked here.
            continue
        answer = decide_inbound(asked(file, received), config, near=True)
        assert msgspec.structs.replace(answer.decided, revision=lived.revision) == lived


def test_that_there_is_something_to_compare():
    found = [one for path in SCENARIOS for one in routed(load_scenario(path))]
    assert len(found) > 60
    assert {decided.matched_by for _, _, decided in found} >= {"default", "binding.peer"}
    assert any(decided.reply_reason == "reply-in-opened-thread" for _, _, decided in found)


def test_the_command_tells_a_target_as_a_run_resolved_it(trunkline):
    path = ROOT / "scenarios" / "faults" / "sent-by-clients.yaml"
    bodies = [event.body for event in run_scenario(load_scenario(path)).trace.events]
    resolved = [body for body in bodies if isinstance(body, TargetResolved)]
    assert resolved
    for body in resolved:
        answer = told(trunkline, "send", body.target, "--channel", body.channel, "--config", path)
        assert answer["session_key"] == body.session_key
        assert tuple(answer["steps"]) == body.steps
        assert answer["place"]["conversation"] == body.address.conversation
