"""Chat commands of owners and strangers, answers for nobody, keys of earlier versions, retention, kinds of places."""

from tests.families.family import Family

_COMMANDS = (
    *("/focus", "/focus main", "/focus lamps", "/focus nowhere:at:all", "/focus main:subagent:m9.hand9"),
    *(
        "/agents",
        "/tasks",
        "/cancel",
        "/cancel lamps",
        "/cancel nothing",
        "/unfocus",
        "/focus@trunkbot main",
        "/unfocus@other",
    ),
    *("/unknown word", "/tasks extra", "/agents all", "/cancel m0.hand1", "/unfocus", "no command"),
)


def _say(who: str, place: str, start: int, every: int = 2) -> str:
    return "\n".join(
        f'- {{at: {start + every * number}s, as: {who}, in: "{place}", say: "{command}"}}'
        for number, command in enumerate(_COMMANDS)
    )


_CONTROL = """
gateway:
  agents: [{id: main, default: true}, {id: scout}]
  control: {enabled: $enabled, owners: [$owners], names: [$names]}
  channels: {$platform: {thread_bindings: {spawn_subagent_sessions: $spawn}}}
world:
  people: {ana: {ids: {$platform: "$ana"}}, bo: {ids: {$platform: "$bo"}}}
  $platform: {${guild}rooms: {ops: $ops, den: {}}}
cast:
  agents:
    main:
      - {when: {callback: "*"}, may_miss: true, do: [{reply: "{outcome}: {result}"}]}
      - {when: {text: "count*"}, do: [{delegate: {hand: clerk, task: "{text}", label: lamps}}, {reply: "on it"}]}
      - {when: {text: "ask scout*"}, do: [{delegate: {hand: scout, task: "{text}", label: scouting, thread: false}}, {reply: "asked"}]}
      - do: [{reply: "I know: {text}"}]
    scout:
      - {when: {task: "*"}, do: [{think: 90s}, {reply: "nothing new"}]}
  hands: {clerk: [{when: {text: "*again"}, takes: 2m, result: "three lamps", may_miss: true}, {takes: 70s, progress: [{at: 5s, text: "one so far"}], result: "two lamps"}]}
script:
  - {at: 0s, as: ana, in: $place, say: "count the lamps", id: m0}
  - {at: 1s, as: bo, in: $place, say: "ask scout for news", id: n0}
  $says
"""
_CHANNELS = {
    "discord": {"ana": "1001", "bo": "1002", "guild": "guild: acme, ", "ops": "{threads: [log]}"},
    "telegram": {"ana": "1001", "bo": "1002", "guild": "", "ops": "{threads: [log]}"},
    "slack": {"ana": "U1ANA", "bo": "U1BO", "guild": "", "ops": "{}"},
    "whatsapp": {"ana": "+15550000001", "bo": "+15550000002", "guild": "", "ops": "{}"},
}


def _control(platform: str, who: str, place: str, *, owner: bool, enabled: str = "true") -> dict[str, str]:
    slots = _CHANNELS[platform]
    both = _say(who, place, 5)
    return {
        **slots,
        "platform": platform,
        "place": place,
        "spawn": str(platform in ("discord", "telegram")).lower(),
        "enabled": enabled,
        "who": f"{'an owner' if owner else 'a stranger'} {'in a room' if not place.startswith('@') else 'in private'}",
        "owners": f'"{platform}:{slots[who]}"' if owner else '"discord:9"',
        "names": "trunkbot" if platform == "telegram" else "",
        "says": both + "\n- {at: 60s, as: bo, in: den, say: /agents}\n- {at: 62s, as: ana, in: den, say: /tasks}",
    }


_SILENT = {
    "message": ("a person writes", ""),
    "callback": ("a hand brings its result", "- {at: 10s, as: ana, in: ops, say: work}"),
    "task": ("another agent has a task", "- {at: 10s, as: ana, in: ops, say: ask scout}"),
    "heartbeat": ("the heartbeat runs", "- {at: 10s, wake_heartbeat: {}}"),
    "wake": ("an operator wakes the agent", "- {at: 10s, wake: {agent: main, text: look}}"),
    "system-event": ("something happens", '- {at: 10s, system_event: {text: "the door opened"}}'),
    "bound": (
        "somebody writes in a bound room",
        "- {at: 8s, bind: {in: den, session: ops}}\n- {at: 10s, as: bo, in: den, say: and here}",
    ),
    "call": (
        "somebody calls",
        "- {at: 10s, as: ana, in: voice/@ana, call: one}\n- {at: 12s, as: ana, in: voice/@ana, say: hello}\n- {at: 60s, as: ana, in: voice/@ana, hang_up: true}",
    ),
}
_TOKENS = {
    "alone": '"NO_REPLY"',
    "first": '"NO_REPLY\\nsecret thoughts"',
    "last": '"secret thoughts\\n\\n**NO_REPLY**"',
    "inside": '"I say NO_REPLY here, so it is a word"',
    "reasoning": '"<think>secret thoughts</think>NO_REPLY"',
    "heartbeat": '"HEARTBEAT_OK"',
}

_KEYS = {
    "openclaw": "agent:main:telegram:dm:1001",
    "openclaw-direct": "agent:main:telegram:direct:1001",
    "openclaw-account": "agent:main:telegram:default:direct:1001",
    "main": "agent:main:main",
    "ours": "main:telegram:default:direct:1001",
    "ours-upper-case": "MAIN:Telegram:Default:Direct:1001",
    "unreadable": "agent:main:telegram:???",
    "another-agent": "agent:scout:telegram:direct:1001",
}

_SCOPES = {
    "main": ("dm_scope: main, group_scope: main, main_key: main", ""),
    "per-peer": ('dm_scope: per-peer, identity_links: {ana: ["telegram:1001", "slack:U1ANA"]}', ""),
    "per-channel-peer": ("dm_scope: per-channel-peer", "session: {dm_scope: per-peer}"),
    "per-account": ("dm_scope: per-account-channel-peer, group_scope: per-group", "session: {group_scope: main}"),
}

FAMILIES = (
    Family(
        name="commands",
        title="Every chat command from $who on $platform",
        story="""
        $who gives each command of the gateway, with what it needs and without, while a hand and another agent work. Whoever
        may not do it is told so, nothing of it is done, and no agent answers a command.
        """,
        tags=("control", "commands", "$platform"),
        text=_CONTROL,
        exercised=("D1", "L1", "R1"),
        rows={
            "discord-owner": _control("discord", "ana", "ops", owner=True),
            "discord-stranger": _control("discord", "bo", "ops", owner=False),
            "discord-owner-in-private": _control("discord", "ana", "@ana", owner=True) | {"place": "ops"},
            "telegram-owner": _control("telegram", "ana", "ops", owner=True),
            "telegram-stranger": _control("telegram", "bo", "@bo", owner=False) | {"place": "ops"},
            "slack-owner": _control("slack", "ana", "@ana", owner=True) | {"place": "ops"},
            "whatsapp-stranger": _control("whatsapp", "bo", "ops", owner=False),
            "off": _control("telegram", "ana", "ops", owner=True, enabled="false"),
        },
    ),
    Family(
        name="silent",
        title="An answer with the token of silence ($token), when $what",
        story="""
        The agent chooses not to answer when $what: its answer is $text. Nothing of an answer that is for nobody is seen,
        and its end has a reason. A token in the middle of a text is a word like others.
        """,
        tags=("silence", "turns"),
        text="""
        gateway:
          agents: [{id: main, default: true}, {id: scout}]
          heartbeat: {every: 2h, target: last}
        world:
          people: {ana: {ids: {telegram: "1001", voice: "+15551230001"}}, bo: {}}
          telegram: {rooms: [ops, den]}
          voice: {}
        cast:
          agents:
            main:
              - {when: {text: work}, may_miss: true, do: [{delegate: {hand: clerk, task: lamps}}, {reply: "on it"}]}
              - {when: {text: ask scout}, may_miss: true, do: [{delegate: {hand: scout, task: news}}, {reply: "asked"}]}
              - {when: {text: first}, do: [{reply: "I am here"}]}
              - {when: {callback: "*"}, may_miss: true, do: [{reply: $text}]}
              - {when: {heartbeat: true}, may_miss: true, do: [{reply: $text}]}
              - {when: {wake: true}, may_miss: true, do: [{reply: $text}]}
              - do: [{reply: $text}]
            scout:
              - {when: {task: "*"}, may_miss: true, do: [{think: 2s}, {reply: $text}]}
          hands: {clerk: {takes: 3s, result: $text, may_miss: true}}
        script:
          - {at: 1s, as: ana, in: telegram/ops, say: first}
          $step
          - {at: 70s, as: ana, in: telegram/ops, say: second}
        """,
        exercised=("L1", "T2"),
        rows={
            f"{kind}-{token}": {
                "what": what,
                "step": step.replace("in: ops", "in: telegram/ops")
                .replace("in: den", "in: telegram/den")
                .replace("session: ops", "session: telegram/ops"),
                "token": token,
                "text": _TOKENS[token],
            }
            for number, (kind, (what, step)) in enumerate(_SILENT.items())
            for index, token in enumerate(_TOKENS)
            if (number + index) % 3 == 0
        },
    ),
    Family(
        name="keys",
        title="A session of an earlier version has a key in another form: $name",
        story="""
        The store holds a session under `$key`, and a newer one under today's key. The gateway starts with it, and the
        conversation goes on in the session that was written last, unless the key names another conversation, or none.
        """,
        tags=("keys", "migration", "telegram"),
        text="""
        gateway:
          agents: [{id: main, default: true}, {id: scout}]
          bindings: [{agent: scout, match: {channel: slack, account: "*"}}]
          session: {dm_scope: $scope}
        world:
          people: {ana: {ids: {telegram: "1001"}}, bo: {ids: {telegram: "1002", slack: U1BO}}}
          telegram: {}
          slack: {rooms: [ops]}
        stored:
          sessions:
            - {key: "$key", id: old-ana, agent: main, updated: 5s, lines: ["user: my name is Ana", "assistant: hello Ana"]$more}
            - {key: "agent:main:telegram:direct:1002", id: old-bo, updated: 1s, lines: ["user: an old story"]}
            - {key: "main:telegram:default:direct:1002", codec: v1, id: new-bo, updated: 2s, place: "telegram/@bo", lines: ["user: a newer story"]}
            - {key: "agent:scout:slack:direct:u1bo", codec: openclaw, id: bo-on-slack, agent: scout, lines: ["user: by the way", "hand: from a hand"]}
        cast:
          agents:
            main: [{do: [{reply: "I know: {memory}"}]}]
            scout: [{do: [{reply: "scout knows: {memory}"}]}]
        script:
          - {at: 0s, as: ana, in: "telegram/@ana", say: "who am I?"}
          - {at: 10s, as: bo, in: "telegram/@bo", say: "where were we?"}
          - {at: 20s, as: bo, in: "slack/@bo", say: "and here?"}
          - {at: 30s, restart: {down: 1s}}
          - {at: 40s, as: ana, in: "telegram/@ana", say: "still?"}
          - {at: 45s, in: "telegram/@bo", reset: true}
          - {at: 46s, in: "slack/@bo", reset: {agent: scout}}
          - {at: 50s, as: bo, in: "telegram/@bo", say: "still?"}
        """,
        exercised=("S1", "D1"),
        rows={
            name: {
                "name": name.replace("-", " "),
                "key": key,
                "scope": "main" if name == "main" else "per-account-channel-peer",
                "more": ', place: "telegram/@ana"' if name in ("openclaw", "ours") else "",
            }
            for name, key in _KEYS.items()
        },
    ),
    Family(
        name="scopes",
        title="Every kind of place under the scope $row",
        story="""
        Two people write in a room, in a thread, in private and through two accounts on two platforms, over a restart and a
        reload of the scopes. Who shares a session is decided by the scope alone, and each change is an event.
        """,
        tags=("sessions", "scopes", "places"),
        text="""
        gateway:
          agents: [{id: main, default: true}, {id: desk}]
          session: {$scopes}
          bindings:
            - {agent: desk, name: by role, match: {channel: discord, guild: acme, roles: [staff]}}
            - {agent: desk, name: by guild, match: {channel: discord, guild: other}}
            - {agent: desk, name: by team, match: {channel: slack, team: T9}}
            - {agent: desk, name: one person, match: {channel: telegram, account: "*", peer: {kind: direct, id: "1002"}}, session: {dm_scope: per-peer}}
            - {agent: desk, name: second, match: {channel: telegram, account: second}, session: {dm_scope: main, group_scope: main}}
            - {agent: main, name: again, match: {channel: telegram, account: second}}
            - {agent: main, name: groups, match: {channel: telegram, peer: {kind: group, id: "*"}}, session: {group_scope: per-group}}
            - {agent: desk, name: a channel, match: {channel: slack, account: default, peer: {kind: channel, id: C100}}}
        world:
          people: {ana: {roles: [staff], ids: {telegram: "1001", slack: U1ANA}}, bo: {ids: {telegram: "1002", slack: U1BO}}}
          telegram: {accounts: {default: {}, second: {}}, rooms: {ops: {id: "-100700", threads: {log: {id: "77"}}}}}
          slack: {rooms: {hall: {id: C100, threads: [log]}, den: {id: C200}}}
          discord: {guild: acme, rooms: {yard: {threads: [log]}}}
        cast:
          agents:
            main: [{do: [{reply: "main knows: {memory}"}]}]
            desk: [{do: [{reply: "desk knows: {memory}"}]}]
        script:
          - {at: 1s, as: ana, in: "telegram:default/@ana", say: "one"}
          - {at: 2s, as: bo, in: "telegram:default/@bo", say: "two"}
          - {at: 3s, as: ana, in: "telegram:second/@ana", say: "three"}
          - {at: 4s, as: bo, in: "telegram:default/ops", say: "four"}
          - {at: 5s, as: ana, in: "telegram:default/ops/log", say: "five"}
          - {at: 6s, as: ana, in: "telegram:second/ops", say: "six"}
          - {at: 7s, as: ana, in: "slack/@ana", say: "seven"}
          - {at: 8s, as: bo, in: slack/hall, say: "eight"}
          - {at: 9s, as: bo, in: slack/hall/log, say: "nine"}
          - {at: 10s, as: bo, in: slack/den, say: "ten"}
          - {at: 11s, as: ana, in: discord/yard, say: "eleven"}
          - {at: 12s, as: bo, in: discord/yard, say: "twelve"}
          - {at: 13s, as: bo, in: discord/yard/log, say: "thirteen"}
          - {at: 14s, as: bo, in: "discord/@bo", say: "fourteen"}
          $reload
          - {at: 30s, restart: {down: 1s}}
          - {at: 40s, as: ana, in: "telegram:default/@ana", say: "again one"}
          - {at: 41s, as: ana, in: "telegram:second/@ana", say: "again three"}
          - {at: 42s, as: bo, in: "telegram:default/ops", say: "again four"}
          - {at: 43s, as: bo, in: "slack/@bo", say: "again seven"}
        """,
        exercised=("S1", "S3", "S4", "R1"),
        rows={
            name: {"scopes": scopes, "reload": f"- {{at: 20s, reload: {{{reload}}}}}" if reload else ""}
            for name, (scopes, reload) in _SCOPES.items()
        },
    ),
    Family(
        name="profile",
        title="A day with the rules of $profile",
        story="""
        The gateway decides as $profile does: keys, targets, sends, the message tool, hands and heartbeats. What does not
        depend on its keys is judged as ever.
        """,
        tags=("profile", "openclaw"),
        text="""
        gateway:
          profile: $profile
          agents: [{id: main, default: true}, {id: scout}]
          session: {dm_scope: $scope, main_key: home}
          heartbeat: {every: 2h, target: last}
          channels: {slack: {group_dms: [G100], rooms: [D100]}}
        world:
          people: {ana: {ids: {telegram: "1001", slack: U1ANA, whatsapp: "+15550000001"}}, bo: {}}
          telegram: {rooms: {ops: {id: "-100700", threads: {log: {id: "77"}}}}}
          slack: {rooms: {hall: {id: C100, threads: [log]}}}
          discord: {guild: acme, rooms: {yard: {id: "700", threads: {log: {id: "701"}}}}}
          whatsapp: {rooms: [team]}
          matrix: {rooms: [lab]}
          signal: {rooms: [club]}
          msteams: {rooms: [desk]}
          bluebubbles: {}
        cast:
          agents:
            main:
              - {when: {heartbeat: true}, do: [{reply: "the disk is full"}]}
              - {when: {callback: "*"}, do: [{reply: "{hand}: {result}"}]}
              - {when: {text: "work*"}, do: [{delegate: {hand: clerk, task: "{text}"}}, {reply: "on it"}]}
              - when: {text: "tell*"}
                do:
                  - act: {action: send, with: {target: "@bo", message: "hello bo", unknown: "x"}}
                  - act: {action: send, with: {to: "channel:C100", channel: slack, message: "to a channel"}}
                  - act: {action: broadcast, with: {targets: ["channel:C100", "user:U1ANA"], channel: slack, message: "to all"}}
                  - act: {action: poll, with: {pollQuestion: "which?", pollOption: [a, b]}}
                  - act: {action: react, of: last, with: {emoji: "x"}}
                  - act: {action: send, with: {target: "-100700", message: "a dry run", dryRun: true}}
                  - reply: "told: {status} {error}"
              - do: [{reply: "I know: {text}"}]
            scout: [{do: [{reply: "scout"}], may_miss: true}]
          hands: {clerk: {takes: 5s, result: "done with {task}"}}
        script:
          - {at: 1s, as: ana, in: "telegram/@ana", say: "work on this"}
          - {at: 2s, as: bo, in: telegram/ops/log, say: "tell them"}
          - {at: 3s, as: ana, in: "slack/@ana", say: "hello"}
          - {at: 4s, as: ana, in: slack/hall/log, say: "hello"}
          - {at: 5s, as: bo, in: discord/yard/log, say: "tell them"}
          - {at: 6s, as: ana, in: "whatsapp/@ana", say: "hello"}
          - {at: 7s, as: bo, in: matrix/lab, say: "tell them"}
          - {at: 8s, as: bo, in: signal/club, say: "hello"}
          - {at: 9s, as: bo, in: msteams/desk, say: "hello"}
          - {at: 10s, as: bo, in: "bluebubbles/@bo", say: "tell them"}
          - {at: 20s, send: {target: "telegram:-100700:topic:77", channel: telegram, text: "from a client"}}
          - {at: 21s, send: {target: "user:U1ANA", channel: slack, text: "from a client", session: "agent:main:home"}}
          - {at: 22s, send: {target: "channel:701", channel: discord, text: "from a client", agent: scout}}
          - {at: 23s, send: {target: "+15550000001", channel: whatsapp, text: "from a client"}}
          - {at: 24s, send: {target: "700", channel: discord, text: "from a client"}}
          - {at: 25s, send: {target: "19:abc@thread.tacv2", channel: msteams, text: "from a client"}}
          - {at: 26s, send: {target: "chat_guid:iMessage;-;+15550001111", channel: bluebubbles, text: "from a client"}}
          - {at: 27s, send: {target: "group:abc", channel: signal, text: "from a client"}}
          - {at: 28s, send: {target: "#lab:example.org", channel: matrix, text: "from a client"}}
          - {at: 30s, crash: {restart_after: 1s}}
          - {at: 130m, note: "a heartbeat has run"}
        """,
        exercised=("D1", "L1"),
        rows={
            "openclaw": {"profile": "openclaw", "scope": "main"},
            "openclaw-by-peer": {"profile": "openclaw", "scope": "per-channel-peer"},
            "openclaw-2026-08": {"profile": "openclaw-2026-08", "scope": "per-account-channel-peer"},
            "openclaw-2026-08-main": {"profile": "openclaw-2026-08", "scope": "main"},
        },
    ),
)
