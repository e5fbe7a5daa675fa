"""Work in threads of its own whose place is gone, and the settings that decide what becomes of its result."""

from tests.families.family import Family

_CAUSES = {
    "deleted": ("its thread is deleted", "- {at: 10s, in: ops/m1.hand1, delete: true}"),
    "locked": ("its thread is archived and locked", "- {at: 10s, in: ops/m1.hand1, archive: true, locked: true}"),
    "unbound": ("an operator unbinds it", '- {at: 10s, unbind: {in: ops/m1.hand1, reason: "no longer wanted"}}'),
    "by-session": (
        "its session is unbound",
        '- {at: 10s, unbind: {session: "main:subagent:m1.hand1", agent: main, reason: unbound}}',
    ),
    "expired": ("its binding is too old", ""),
    "rebound": (
        "its thread is bound to another session",
        "- {at: 10s, bind: {in: ops/m1.hand1, session: ops, agent: main}}",
    ),
    "refused": ("the platform refuses the result", "- {at: 10s, fault: {on: send, do: refuse, in: ops/m1.hand1}}"),
    "away": (
        "the platform fails when the work ends, and its thread is deleted before the retry",
        "- {at: 10s, fault: {on: send, do: error, in: ops/m1.hand1, times: 3}, may_miss: true}\n- {at: 32s, in: ops/m1.hand1, delete: true}",
    ),
}
_SETTINGS = {
    "closed": "fallback: none, notice: true",
    "silent": "fallback: none, notice: false",
    "open": "fallback: requester, notice: true",
}


def _rows() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for number, (cause, (what, step)) in enumerate(_CAUSES.items()):
        for index, (name, settings) in enumerate(_SETTINGS.items()):
            # Each cause meets each setting on one platform, and half of them on the other.
            platforms = ("discord", "telegram") if (number + index) % 3 == 0 else ("discord",)
            for platform in platforms:
                age = ", max_age: 12s, farewell: This thread is closed now." if cause == "expired" else ""
                found[f"{platform}-{cause}-{name}"] = {
                    "platform": platform,
                    "what": what,
                    "name": {"closed": "a notice says so", "silent": "nobody is told", "open": "it goes to who asked"}[
                        name
                    ],
                    "settings": settings + age,
                    "step": step,
                    "announce": "direct" if (number + index) % 2 else "turn",
                    "guild": "guild: acme, " if platform == "discord" else "",
                }
    return found


_SPOKEN = """
gateway:
  hands: {announce: $announce}
  channels: {$platform: {thread_bindings: {spawn_subagent_sessions: true, sweep: 15s, idle_timeout: 1h, $settings}}}
world:
  people: [ana, bo]
  $platform: {${guild}rooms: [ops]}
cast:
  agents:
    main:
      - {when: {callback: "*"}, may_miss: true, do: [{reply: "found: {result}"}]}
      - {when: {text: "and?"}, do: [{reply: "I know: {memory}"}]}
      - do: [{delegate: {hand: codex, task: "{text}"}}, {reply: "on it"}]
  hands: {codex: {takes: 30s, result: "zebra {task}"}}
script:
  - {at: 0s, as: ana, in: ops, say: "review"}
  $step
  - {at: 60s, as: bo, in: ops, say: "another review"}
  - {at: 120s, as: ana, in: ops, say: "and?"}
"""

_IDENTITY = """
gateway:
  channels:
    discord:
      thread_bindings:
        {spawn_subagent_sessions: true, identity: webhook, identity_fallback: $fallback, degraded_after: 2, owner: $owner, unarchive: $unarchive}
world:
  people: [ana]
  discord: {guild: acme, echoes: true, rooms: [ops]}
cast:
  agents:
    main:
      - {when: {callback: "*"}, do: [{reply: "found: {result}"}]}
      - {when: {text: "review*"}, do: [{delegate: {hand: codex, task: "{text}", thread: true}}, {reply: "on it"}]}
      - do: [{reply: "heard {text}"}]
  hands: {codex: {takes: 8s, result: "zebra {task}"}}
script:
  - {at: 0s, as: ana, in: ops, say: "review"}
  - {at: 15s, as: ana, in: ops/m1.hand1, say: "one"}
  - {at: 20s, webhook: {in: ops, state: $state}}
  - {at: 25s, as: ana, in: ops/m1.hand1, say: "two"}
  - {at: 30s, as: ana, in: ops/m1.hand1, say: "three"}
  - {at: 35s, as: ana, in: ops/m1.hand1, say: "four"}
  - {at: 40s, in: ops/m1.hand1, archive: true}
  - {at: 45s, as: ana, in: ops/m1.hand1, say: "five"}
  - {at: 50s, bind: {in: ops/m1.hand1, session: "main:subagent:m1.hand1", max_age: 1h, label: again}}
  - {at: 55s, as: ana, in: ops/m1.hand1, say: "six"}
"""

FAMILIES = (
    Family(
        name="bound",
        title="The work has a thread on $platform, and $what: $name",
        story="""
        What a hand returns belongs into the thread of its work. When it ends, $what. With `$settings` no word of the
        result is seen anywhere else, unless the setting sends it to who asked, and the session that asked can tell.
        """,
        tags=("bindings", "fallback", "hands", "$platform"),
        text=_SPOKEN,
        exercised=("B1", "C4", "R2", "L2"),
        rows=_rows(),
    ),
    Family(
        name="bound-identity",
        title="The webhook of a bound thread is $state, and the bot speaks: $fallback",
        story="""
        A bound thread speaks under the name of its work. Its webhook goes while people write there, the thread is archived
        meanwhile, and at the end it is bound again. What people see under which name follows the settings.
        """,
        tags=("bindings", "identity", "discord"),
        text=_IDENTITY,
        exercised=("B1", "R2"),
        rows={
            f"{state}-{fallback}-{owner}": {
                "state": state,
                "fallback": fallback,
                "owner": owner,
                "unarchive": unarchive,
            }
            for state, fallback, owner, unarchive in (
                ("deleted", "bot", "channel", "true"),
                ("forbidden", "bot", "account", "true"),
                ("deleted", "none", "channel", "false"),
                ("forbidden", "none", "account", "false"),
            )
        },
    ),
    Family(
        name="bound-off",
        title="Bindings are $what on $platform",
        story="""
        Operators and people bind and unbind conversations, with times to live that are none, with sessions that do not exist,
        and without naming what they mean. What cannot be done is refused with its reason, and changes nothing.
        """,
        tags=("bindings", "operators", "$platform"),
        text="""
        gateway:
          agents: [{id: main, default: true}, {id: scout}]
          channels: {$platform: {thread_bindings: {enabled: $enabled, spawn_subagent_sessions: true, sweep: 20s}}}
        world:
          people: [ana]
          $platform: {${guild}rooms: {ops: {$threads}, den: {}}}
        cast:
          agents:
            main: [{do: [{reply: "I know: {memory}"}]}]
            scout: [{do: [{reply: "scout: {text}"}], may_miss: true}]
        script:
          - {at: 0s, as: ana, in: ops, say: "one"}
          - {at: 1s, bind: {in: den, session: ops, max_age: 0s}}
          - {at: 2s, bind: {in: den, session: "nobody:main"}}
          - {at: 3s, bind: {in: den, session: "main:subagent:nowhere"}}
          - {at: 4s, bind: {in: den, session: ops, agent: scout}}
          - {at: 5s, bind: {in: den, session: ops, idle: 30s, max_age: 50s, label: den}}
          - {at: 6s, as: ana, in: den, say: "two"}
          - {at: 20s, bind: {in: den, session: "main:main", label: mine}}
          - {at: 22s, as: ana, in: den, say: "three"}
          - {at: 30s, bind: {in: "$platform/@ana", session: ops, max_age: 30s}}
          - {at: 32s, as: ana, in: "$platform/@ana", say: "four"}
          - {at: 50s, unbind: {in: ops}}
          - {at: 51s, unbind: {session: ops, agent: main, reason: "idle-expired"}}
          - {at: 52s, unbind: {session: "main:subagent:nowhere"}}
          - {at: 100s, as: ana, in: den, say: "five"}
          - {at: 101s, as: ana, in: "$platform/@ana", say: "six"}
        """,
        exercised=("B1", "D1"),
        rows={
            f"{platform}-{'on' if enabled == 'true' else 'off'}": {
                "platform": platform,
                "enabled": enabled,
                "what": "on" if enabled == "true" else "switched off",
                "guild": "guild: acme, " if platform == "discord" else "",
                "threads": "threads: [log]" if platform in ("discord", "telegram", "slack", "matrix") else "",
            }
            for platform, enabled in (
                *(("discord", "true"), ("discord", "false"), ("telegram", "true"), ("slack", "true")),
                *(("whatsapp", "true"), ("signal", "false"), ("matrix", "true")),
            )
        },
    ),
)
