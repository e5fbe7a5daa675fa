"""Actions of the message tool: each that a platform has, what it needs, what is switched off, and dry runs of it."""

import json
from collections.abc import Iterable, Mapping

from tests.families.family import Family
from trunkline.core.action_catalogue import Action as A
from trunkline.core.action_catalogue import ActionKind
from trunkline.core.channels import rules_for

_FILE = {"buffer": "aGVsbG8=", "filename": "note.txt", "contentType": "text/plain"}
_TO_GUILD = {"guildId": "acme"}
#: the parameters of each action; `of` and `user` are names of the scenario
_PARAMS: Mapping[A, Mapping[str, object]] = {
    A.SEND: {"message": "a text", "silent": True},
    A.REPLY: {"of": "m1", "message": "an answer"},
    A.THREAD_REPLY: {"message": "in the thread", "threadId": "$thread"},
    A.SEND_ATTACHMENT: {"caption": "a note", **_FILE},
    A.UPLOAD_FILE: {"message": "a file", "path": "/tmp/plan.pdf"},
    A.SEND_WITH_EFFECT: {"message": "hooray", "effectId": "confetti"},
    A.POLL: {"pollQuestion": "which?", "pollOption": ["red", "green"], "pollMulti": True, "label": "poll"},
    A.POLL_VOTE: {"of": "$poll", "pollOption": "red"},
    A.POLL_RESULTS: {"of": "$poll"},
    A.STICKER: {"fileId": "sticker-7"},
    A.EDIT: {"of": "own", "message": "mine, better"},
    A.REACT: {"of": "m1", "emoji": "\N{THUMBS UP SIGN}"},
    A.PIN: {"of": "own"},
    A.UNPIN: {"of": "own"},
    A.UNSEND: {"of": "own"},
    A.DELETE: {"of": "own"},
    A.REACTIONS: {"of": "m1"},
    A.READ: {"limit": 3},
    A.LIST_PINS: {"limit": 2},
    A.PERMISSIONS: {},
    A.SEARCH: {"query": "go", **_TO_GUILD},
    A.STICKER_SEARCH: {"query": "cat"},
    A.THREAD_CREATE: {"threadName": "from here", "message": "first words"},
    A.THREAD_LIST: _TO_GUILD,
    A.TOPIC_CREATE: {"name": "a topic"},
    A.TOPIC_EDIT: {"threadId": "$thread", "name": "renamed"},
    A.RENAME_GROUP: {"displayName": "the team"},
    A.SET_GROUP_ICON: _FILE,
    A.ADD_PARTICIPANT: {"address": "+15550009999"},
    A.REMOVE_PARTICIPANT: {"address": "+15550009999"},
    A.LEAVE_GROUP: {"to": "$platform/left"},
    A.TIMEOUT: {"user": "bo", "durationMin": 5, **_TO_GUILD},
    A.KICK: {"user": "bo", "reason": "noise", **_TO_GUILD},
    A.BAN: {"user": "cy", "deleteDays": 1, **_TO_GUILD},
    A.ROLE_ADD: {"user": "ana", "roleId": "r1", **_TO_GUILD},
    A.ROLE_REMOVE: {"user": "ana", "roleId": "r1", **_TO_GUILD},
    A.ROLE_INFO: _TO_GUILD,
    A.MEMBER_INFO: {"user": "ana", **_TO_GUILD},
    A.VOICE_STATUS: {"user": "ana", **_TO_GUILD},
    A.CHANNEL_CREATE: {"name": "lab", "topic": "trials", **_TO_GUILD},
    A.CHANNEL_EDIT: {"to": "$platform/ops", "name": "ops-2", "topic": "work"},
    A.CHANNEL_DELETE: {"to": "$platform/left"},
    A.CHANNEL_MOVE: {"to": "$platform/ops", "position": 2, **_TO_GUILD},
    A.CATEGORY_CREATE: {"name": "old", **_TO_GUILD},
    A.CATEGORY_EDIT: {"categoryId": "c1", "name": "older"},
    A.CATEGORY_DELETE: {"categoryId": "c1"},
    A.EVENT_CREATE: {"eventName": "party", "startTime": "2026-12-01T18:00:00Z", "location": "here", **_TO_GUILD},
    A.EVENT_LIST: _TO_GUILD,
    A.EMOJI_LIST: _TO_GUILD,
    A.EMOJI_UPLOAD: {"emojiName": "lamp", **_FILE, **_TO_GUILD},
    A.STICKER_UPLOAD: {"stickerName": "lamp", "stickerDesc": "a lamp", "stickerTags": "light", **_FILE, **_TO_GUILD},
    A.CHANNEL_INFO: {"to": "$platform/ops"},
    A.CHANNEL_LIST: _TO_GUILD,
    A.SET_PRESENCE: {"status": "idle", "activityType": "custom", "activityState": "tidying up"},
    A.SET_PROFILE: {"displayName": "the clerk"},
    A.DOWNLOAD_FILE: {"fileId": "F1"},
}
#: those that take something away stand last
_LAST = (A.UNPIN, A.UNSEND, A.DELETE, A.CHANNEL_DELETE, A.LEAVE_GROUP, A.KICK, A.BAN, A.CATEGORY_DELETE)


def _actions(platform: str) -> tuple[A, ...]:
    rules = rules_for(platform)
    found = [action for action in A if rules.action(action) is not None]
    return (*(action for action in found if action not in _LAST), *(a for a in _LAST if a in found))


def _call(action: A, given: Mapping[str, object], platform: str) -> str:
    parts = [f"action: {action.value}"]
    parts += [f"{name}: {value}" for name, value in given.items() if name in ("to", "of", "user", "label")]
    wire = {name: value for name, value in given.items() if name not in ("to", "of", "user", "label")}
    if wire:
        shown = ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in wire.items())
        parts.append(f"with: {{{shown}}}")
    text = f"- act: {{{', '.join(parts)}}}"
    has_poll = None not in (rules_for(platform).action(A.POLL), rules_for(platform).action(action))
    return (
        text.replace("$platform", platform)
        .replace("$poll", "poll" if has_poll else "own")
        .replace("$thread", _THREAD_IDS.get(platform, "1"))
    )


#: the id of the thread `log` of the room `ops`
_THREAD_IDS = {
    "telegram": "77",
    "discord": "7700",
    "slack": "1700000000.000100",
    "matrix": "$$log",
    "msteams": "1700000000100",
}


def _calls(platform: str, actions: Iterable[A], **more: object) -> str:
    return "\n".join(_call(action, {**_PARAMS[action], **more}, platform) for action in actions)


def _bare(platform: str, actions: Iterable[A]) -> str:
    """Each action without one of the parameters that it has, and the first one with a parameter of another."""
    lines: list[str] = []
    for action in actions:
        given = _PARAMS[action]
        lines += [
            _call(action, {key: value for key, value in given.items() if key != left_out}, platform)
            for left_out in given
            if left_out not in ("to", "label", "silent", "limit", "filename", "contentType")
        ][:2]
    return "\n".join(lines)


_WORLDS = {
    "discord": "guild: acme, rooms: {ops: {threads: {log: {id: '7700'}}}, left: {}}",
    "telegram": "rooms: {ops: {threads: {log: {id: '77'}}}, left: {}}",
    "slack": "rooms: {ops: {threads: {log: {id: '1700000000.000100'}}}, left: {}}",
    "matrix": "rooms: {ops: {threads: {log: {id: '$log'}}}, left: {}}",
    "msteams": "rooms: {ops: {threads: {log: {id: '1700000000100'}}}, left: {}}",
    "whatsapp": "rooms: {ops: {}, left: {}}",
    "signal": "rooms: {ops: {}, left: {}}",
    "bluebubbles": "rooms: {ops: {}, left: {}}",
    "imessage": "rooms: {ops: {}, left: {}}",
}


def _gates(platform: str, *, on: bool) -> str:
    rules = rules_for(platform)
    entries = [entry for action in A if (entry := rules.action(action)) is not None]
    names = sorted({gate for entry in entries for gate in (entry.gate, entry.of_others) if gate is not None})
    return ", ".join(f"{gate}: {str(on).lower()}" for gate in names) or "messages: true"


_TEXT = """
gateway:
  channels: {$platform: {actions: {$gates}}}
  $tools
world:
  people: [ana, bo, cy]
  $platform: {$world}
cast:
  agents:
    main:
      - when: {text: go}
        do:
          - send: {text: "mine", label: own}
          $calls
          - reply: "the last one: {status} {error}"
      - do: [{reply: "I know: {text}"}]
script:
  - {at: 1s, as: bo, in: $platform/ops, say: "a word before", id: m0}
  - {at: 2s, as: ana, in: $platform/ops, say: go, id: m1}
  $steps
  - {at: 60s, as: ana, in: "$platform/@ana", say: "and in private"}
"""
_CRASH = "- {at: 2s, crash: {when: {event: intent.prepared, nth: 3}, restart_after: 1s}}"


def _row(platform: str, **slots: str) -> dict[str, str]:
    found = {"platform": platform, "world": _WORLDS[platform], "gates": _gates(platform, on=True), "tools": ""}
    return {**found, "steps": "", **slots}


_ALL = {
    platform: _row(platform, calls=_calls(platform, _actions(platform)), steps=_CRASH if crash else "")
    for platform, crash in (
        *(("discord", True), ("telegram", False), ("slack", True), ("matrix", False), ("msteams", True)),
        *(("whatsapp", False), ("signal", True), ("bluebubbles", False), ("imessage", True)),
    )
}
_LACKING = {
    platform: _row(platform, calls=_bare(platform, _actions(platform)))
    for platform in ("discord", "telegram", "matrix", "bluebubbles")
}
_CLOSED = {
    platform: _row(platform, calls=_calls(platform, _actions(platform)), gates=_gates(platform, on=False))
    for platform in ("discord", "telegram", "whatsapp")
}
_DISABLED = {
    platform: _row(
        platform,
        calls=_calls(platform, _actions(platform)),
        tools=f"tools: {{message: {{disabled_actions: [{', '.join(a.value for a in _actions(platform) if a is not A.SEND)}]}}}}",
    )
    for platform in ("slack", "imessage")
}
_DRY = {
    platform: _row(platform, calls=_calls(platform, _actions(platform), dryRun=True))
    for platform in ("discord", "matrix", "bluebubbles")
}
_ABSENT = {
    platform: _row(
        platform, calls=_calls(platform, (a for a in _PARAMS if a not in _actions(platform) and a is not A.SEND))
    )
    for platform in ("telegram", "signal")
}
_WAYS = ("lose-response", "error", "refuse", "rate-limit", "drop", "reset", "slow")


def _faults(platform: str) -> str:
    """A fault for each change, each of another kind than that of the change before."""
    changes = [action for action in _actions(platform) if action.spec.kind is ActionKind.CHANGE]
    return "\n".join(
        f"- {{at: 2s, fault: {{on: act, do: {'error' if action in (*_LAST, A.CATEGORY_EDIT) else _WAYS[number % len(_WAYS)]}, action: {action.value}, for: 4s}}}}"
        for number, action in enumerate(changes)
    )


_FAULTY = {
    platform: _row(platform, calls=_calls(platform, _actions(platform)), steps=_faults(platform))
    for platform in ("discord", "telegram", "matrix")
}


def _family(
    name: str, title: str, story: str, exercised: tuple[str, ...], rows: Mapping[str, Mapping[str, str]]
) -> Family:
    tags = ("tool", "actions", "$platform")
    return Family(name=name, title=title, story=story, tags=tags, text=_TEXT, exercised=exercised, rows=rows)


FAMILIES = (
    _family(
        "tool-all",
        "An agent uses every action that $platform has",
        "Every gate is open, and each action is called once, those that take something away last. Only what the "
        "platform accepted is said to be done, and each call is carried out once.",
        ("D1", "T2"),
        _ALL,
    ),
    _family(
        "tool-lacking",
        "An agent calls the actions of $platform without what they need",
        "Each action is called without its first parameter, and without its second one. What is missing is an error for "
        "the agent; the platform sees only what can be done without it.",
        ("D1", "V1"),
        _LACKING,
    ),
    _family(
        "tool-closed",
        "Every gate of $platform is closed, and the agent tries each action",
        "The configuration switches each group of actions off. The agent gets an error for each of them, and sends go on.",
        ("D1", "V1"),
        _CLOSED,
    ),
    _family(
        "tool-disabled",
        "All actions but sends are disabled for the agents, on $platform",
        "The list of disabled actions has all that $platform has. Whatever the agent tries, only its text is sent.",
        ("D1",),
        _DISABLED,
    ),
    _family(
        "tool-dry",
        "An agent only asks what its actions would do on $platform",
        "Each call is a dry run: the agent learns whether it could be carried out, and nothing of it is stored or sent.",
        ("D1",),
        _DRY,
    ),
    _family(
        "tool-absent",
        "An agent tries the actions that $platform has not",
        "Each is an error for the agent, and nothing of it reaches the platform.",
        ("D1",),
        _ABSENT,
    ),
    _family(
        "tool-faults",
        "The requests of an agent's actions go wrong on $platform",
        "Responses are lost, requests are lost, refused, slow or put off. What may be repeated is repeated once its "
        "request cannot arrive any more; what may not waits for an operator.",
        ("A1", "A2"),
        _FAULTY,
    ),
)
