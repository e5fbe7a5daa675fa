"""What stands in no other table: steps, faults, reasons and transitions that few situations have."""

from tests.families.family import Family

_CAST = """
cast:
  agents:
    main:
      - {when: {callback: "*"}, may_miss: true, do: [{reply: "found: {outcome} {result}"}]}
      - {when: {text: "*slow*"}, may_miss: true, do: [{think: 20s}, {reply: "thought of {text}"}]}
      - {when: {text: "*work*"}, may_miss: true, do: [{delegate: {hand: $hand, task: "{text}", label: it}}, {reply: "on it"}]}
      - {do: [{reply: "re: {text}"}], may_miss: true}
"""

#: what people and bots do -> the steps
_PEOPLE = """
- {at: 1s, as: ana, in: ops, say: "first"}
- {at: 2s, as: ana, in: ops, edit: "first, corrected"}
- {at: 3s, as: ana, in: ops, react: "x", of: "re: first"}
- {at: 4s, as: ana, in: ops, react: "x", of: "re: first", remove: true}
- {at: 5s, as: bo, in: ops, say: "a mistake"}
- {at: 6s, as: bo, in: ops, unsend: true}
- {at: 7s, as: bo, in: ops, say: "   "}
- {at: 8s, as: bo, in: ops, say: "I am a bot", bot: true}
- {at: 9s, as: ana, in: ops, say: "slow one"}
- {at: 9.2s, as: bo, in: ops, say: "behind it"}
- {at: 9.4s, as: bo, in: ops, say: "in vain"}
- {at: 10s, as: bo, in: ops, edit: "behind it, corrected", of: "behind it"}
- {at: 10s, as: bo, in: ops, unsend: true, of: "in vain"}
- {at: 10s, as: ana, in: ops, edit: "slow one, corrected", of: "slow one"}
- {at: 11s, as: ana, in: ops, unsend: true}
- {at: 12s, fault: {on: push, do: duplicate}}
- {at: 13s, as: bo, in: ops, say: "twice"}
- {at: 14s, fault: {on: push, do: slow, for: 5s}}
- {at: 15s, as: bo, in: ops, say: "overtaken"}
- {at: 16s, as: bo, in: ops, say: "overtakes"}
- {at: 40s, as: ana, in: "@ana", say: "last"}
"""

_FEW = {
    "push-lost": (
        "the platform loses a message of a person",
        '- {at: 0s, fault: {on: push, do: drop}}\n- {at: 1s, as: ana, in: ops, say: "lost"}\n- {at: 5s, as: ana, in: ops, say: "heard"}',
    ),
    "hand-errors": (
        "a hand fails, is slow, and never answers",
        "- {at: 0s, fault: {on: hand, do: error}}\n- {at: 1s, as: ana, in: ops, say: work one}\n- {at: 10s, fault: {on: hand, do: slow, for: 8s}}\n"
        "- {at: 11s, as: ana, in: ops, say: work two}\n- {at: 40s, fault: {on: hand, do: drop}}\n- {at: 41s, as: ana, in: ops, say: work three}",
    ),
    "store-full": (
        "the disk is full when a message comes, is prepared and is accepted",
        "- {at: 0s, fault: {on: store, do: error, carries: inbound, for: 4s}}\n- {at: 0s, fault: {on: store, do: write-error, carries: intent}}\n"
        "- {at: 0s, fault: {on: store, do: error, carries: ack, for: 4s}}\n- {at: 1s, as: ana, in: ops, say: one}\n- {at: 30s, as: ana, in: ops, say: two}",
    ),
    "stopped-work": (
        "an operator answers a task before any worker takes it",
        "- {at: 1s, as: ana, in: ops, say: work}\n- {at: 3s, hands: {do: answer, label: it, result: by hand}}\n- {at: 30s, as: ana, in: ops, say: more work}\n"
        '- {at: 33s, hands: {do: answer, task: "more*", fails: no ink}}',
    ),
    "never-taken": (
        "nobody takes a task until its deadline",
        "- {at: 1s, as: ana, in: ops, say: work}\n- {at: 100s, as: ana, in: ops, say: done}",
    ),
    "lost-before-start": (
        "the gateway dies between a task and its start",
        "- {at: 0s, crash: {when: {event: delegation.accepted}, restart_after: 2s}}\n- {at: 1s, as: ana, in: ops, say: work}\n- {at: 30s, as: ana, in: ops, say: done}",
    ),
    "turn-again": (
        "the gateway dies twice in the turn that brings a result",
        "- {at: 0s, crash: {when: {event: turn.started, nth: 2}, restart_after: 2s}}\n- {at: 0s, crash: {when: {event: turn.started, nth: 3}, restart_after: 2s}, may_miss: true}\n"
        "- {at: 1s, as: ana, in: ops, say: work}\n- {at: 60s, as: ana, in: ops, say: done}",
    ),
    "discarded-before-its-turn": (
        "an operator discards a report while the requester is busy",
        "- {at: 1s, as: ana, in: ops, say: work}\n- {at: 2s, as: ana, in: ops, say: slow}\n- {at: 9s, hands: {do: discard, label: it}}\n- {at: 50s, as: ana, in: ops, say: done}",
    ),
    "reset-before-its-turn": (
        "a session is reset while its result waits",
        "- {at: 1s, as: ana, in: ops, say: work}\n- {at: 2s, as: ana, in: ops, say: slow}\n- {at: 9s, in: ops, reset: true}\n- {at: 50s, as: ana, in: ops, say: done}",
    ),
    "not-a-worker": (
        "an operator answers for a hand that is no worker",
        "- {at: 1s, as: ana, in: ops, say: work}\n- {at: 2s, hands: {do: answer, label: it, result: mine}}\n- {at: 50s, as: ana, in: ops, say: done}",
    ),
    "dead-letters": (
        "dead, expired and unsent messages are retried",
        '- {at: 0s, fault: {on: send, do: error, text: "re: one", times: 3}}\n- {at: 0s, fault: {on: send, do: rate-limit, text: "re: two", for: 50s}}\n'
        '- {at: 1s, as: ana, in: ops, say: one}\n- {at: 2s, as: bo, in: "@bo", say: two}\n'
        "- {at: 60s, queue: {do: retry, state: dead}}\n- {at: 61s, queue: {do: retry, state: expired}}\n- {at: 90s, as: ana, in: ops, say: three}",
    ),
    "purged": (
        "an operator removes what has failed, and what was cancelled",
        '- {at: 0s, fault: {on: send, do: refuse, text: "re: one"}}\n- {at: 1s, as: ana, in: ops, say: one}\n- {at: 2s, as: ana, in: ops, say: slow}\n'
        "- {at: 30s, queue: {do: purge, state: failed}}\n- {at: 31s, queue: {do: purge, state: delivered, in: ops}}\n- {at: 40s, as: ana, in: ops, say: three}",
    ),
    "clock": (
        "the clock of the machine jumps while messages wait",
        '- {at: 0s, fault: {on: send, do: error, text: "re: one", times: 2}}\n- {at: 1s, as: ana, in: ops, say: one}\n- {at: 2s, clock: {back: 1h}}\n'
        "- {at: 20s, clock: {forward: 3h}}\n- {at: 30s, as: ana, in: ops, say: two}",
    ),
    "queue-damaged": (
        "rows of open messages become unreadable",
        '- {at: 0s, fault: {on: send, do: error, text: "re: one", times: 2}}\n- {at: 1s, as: ana, in: ops, say: one}\n- {at: 2s, fault: {on: queue, do: damage}}\n'
        "- {at: 3s, crash: {restart_after: 1s}}\n- {at: 30s, as: ana, in: ops, say: two}",
    ),
    "mirror-refused": (
        "the transcript takes nothing for a while",
        '- {at: 0s, fault: {on: mirror, do: refuse, for: 20s}}\n- {at: 1s, as: ana, in: ops, say: one}\n- {at: 2s, send: {to: "@bo", text: from a client}}\n- {at: 30s, as: ana, in: ops, say: two}',
    ),
    "connection-dead": (
        "a connection goes silent, and the adapter is missing at the start",
        "- {at: 0s, fault: {on: boot, do: missing, in: ops, for: 6s}}\n- {at: 1s, as: ana, in: ops, say: one}\n- {at: 20s, fault: {on: connect, do: dead, in: ops, for: 9s}}\n"
        "- {at: 21s, as: ana, in: ops, say: two}\n- {at: 60s, as: ana, in: ops, say: three}",
    ),
    "reopened-by-a-result": (
        "the thread of a question is archived before its result comes",
        "- {at: 1s, as: ana, in: ops/log, say: work}\n- {at: 2s, bind: {in: ops/log, session: ops/log}}\n- {at: 3s, in: ops/log, archive: true}\n- {at: 60s, as: ana, in: ops/log, say: done}",
    ),
    "unbound-while-it-works": (
        "a thread is unbound while the work of its session goes on",
        "- {at: 1s, as: ana, in: ops, say: one}\n- {at: 2s, bind: {in: ops/log, session: ops}}\n- {at: 3s, as: ana, in: ops/log, say: work}\n- {at: 3s, as: ana, in: ops/log, say: slow}\n"
        "- {at: 4s, unbind: {in: ops/log}}\n- {at: 5s, as: bo, in: ops/log, say: while it ends}\n- {at: 50s, as: ana, in: ops/log, say: done}",
    ),
    "deleted-while-it-works": (
        "a bound thread is unbound and then deleted while the work of its session goes on",
        "- {at: 1s, as: ana, in: ops, say: one}\n- {at: 2s, bind: {in: ops/log, session: ops}}\n- {at: 3s, as: ana, in: ops/log, say: slow}\n"
        "- {at: 4s, unbind: {in: ops/log}}\n- {at: 6s, in: ops/log, delete: true}\n- {at: 150s, as: ana, in: ops, say: done}",
    ),
    "misplaced": (
        "a topic is deleted, and the platform puts its answer into the room",
        "- {at: 1s, as: ana, in: ops/log, say: slow}\n- {at: 5s, in: ops/log, delete: true}\n- {at: 60s, as: ana, in: ops, say: done}",
    ),
    "no-account-for-long": (
        "an account is away for longer than its messages may wait",
        "- {at: 1s, as: ana, in: ops, say: slow}\n- {at: 5s, fault: {on: connect, do: error, in: ops, for: 60s}}\n- {at: 80s, as: ana, in: ops, say: three}",
    ),
    "taken-back": (
        "a moderator deletes what a hand reports and what a client sends, and the gateway dies",
        "- {at: 0s, crash: {when: {event: delivery.failed, nth: 2}, restart_after: 2s}}\n- {at: 1s, as: ana, in: ops, say: work}\n"
        '- {at: 2s, send: {to: ops, text: from a client}}\n- {at: 12s, in: ops, lose: deleted, of: "found: *"}\n- {at: 14s, in: ops, lose: deleted, of: from a client}\n'
        "- {at: 20s, queue: {do: purge, state: failed}}\n- {at: 30s, as: ana, in: ops, say: done}\n- {at: 40s, in: ops, lose: deleted}",
    ),
}


#: what only some platforms say
_PLATFORMS = {"taken-back": "slack"}


def _few(name: str) -> dict[str, str]:
    what, steps = _FEW[name]
    worker = name in ("stopped-work", "never-taken")
    hand = "press" if worker else "clerk"
    return {
        "more": ", misplaces: true" if name == "misplaced" else "",
        "what": what,
        "steps": steps,
        "hand": hand,
        "cast": _CAST.replace("$hand", hand)
        + (
            "  workers: {wim: {hand: press, takes_after: 20m, rules: {works: 1s, result: late, may_miss: true}}}"
            if worker
            else "  hands: {clerk: {takes: 4s, result: done, may_miss: true}}"
        ),
        "hands": "hands: {each: {press: {worker: true, deadline: 30s}}, on_timeout: report}"
        if worker
        else "hands: {defaults: {deadline: 30s}}",
    }


_MEANT = {
    "reply-quoted": ("telegram", "an answer that quotes its question", "reply_reference: true"),
    "in-a-thread": ("discord", "answers in threads that are opened on messages", "auto_thread: true"),
}

FAMILIES = (
    Family(
        name="few",
        title="One thing that seldom happens on $platform, $what",
        story="""
        People write, and hands work for them, when $what. Everything ends, and who asked is answered or a reason says why not.
        """,
        tags=("faults",),
        text="""
        gateway:
          delivery: {max_attempts: 3, backoff: [3s], max_age: 40s, lease: 30s}
          $hands
        world:
          people: [ana, bo]
          $platform: {rooms: {ops: {threads: [log]}}$more}
        $cast
        script:
          $steps
        """,
        exercised=("L1", "D1"),
        rows={
            name: _few(name) | {"platform": _PLATFORMS.get(name) or ("telegram", "matrix", "slack")[number % 3]}
            for number, name in enumerate(_FEW)
        },
    ),
    Family(
        name="people",
        title="People correct, withdraw and repeat themselves on $platform, and bots write: $bots",
        story="""
        Ana edits, reacts and takes it back; Bo withdraws a message and says nothing; a bot writes; a message comes twice, and
        another is overtaken. Each message is answered once, in its place, and what is not heard has a reason.
        """,
        tags=("inbound", "$platform"),
        text="""
        gateway:
          channels: {$platform: {bots: $bots, reply_reference: true}}
          turns: {chain: 3}
        world:
          people: {ana: {name: Ana}, bo: {}}
          $platform: {${guild}rooms: [ops], stable_ids: $stable}
          crowd: {count: 3, chatter: {in: [ops], messages: 6, every: 2s, start: 20s}}
        cast:
          agents:
            main:
              - {when: {text: "slow*"}, do: [{think: 5s}, {reply: "re: {text}"}]}
              - {when: {wake: false, heartbeat: false, text: "last"}, do: [{reply: "re: last"}]}
              - do: [{reply: "re: {text}"}]
        script:
          $steps
        """,
        exercised=("D7", "L1", "R1"),
        defaults={"steps": _PEOPLE, "guild": ""},
        rows={
            "telegram": {"platform": "telegram", "bots": "allow", "stable": "true"},
            "discord": {"platform": "discord", "bots": "ignore", "stable": "true", "guild": "guild: acme, "},
            "whatsapp": {"platform": "whatsapp", "bots": "ignore", "stable": "false"},
            "matrix": {"platform": "matrix", "bots": "allow", "stable": "true"},
        },
    ),
    Family(
        name="many",
        title="Forty messages at the same moment, $row",
        story="""
        Clients and people write to forty conversations at once, so that many writes share a commit, and the gateway dies in
        the middle of it. Each message is sent and remembered once.
        """,
        tags=("load", "crash"),
        text="""
        gateway:
          delivery: {lanes: $lanes, window: $window, max_backlog: 25, max_backlog_per_conversation: 3, recovery_rate: 20}
        world:
          crowd: 40
          $platform: {rooms: [ops]}
        cast:
          agents: {main: [{do: [{reply: "re: {text}"}]}]}
        script:
          - {at: 1s, send: {to: [$all], text: "to each of you"}}
          $says
          - {at: 3s, crash: {when: {event: wire.accepted, nth: 30}, restart_after: 2s}, may_miss: true}
          - {at: 20s, send: {to: [$all], text: "and once more"}}
        """,
        exercised=("D1", "M1", "O1"),
        rows={
            name: {
                "platform": platform,
                "lanes": lanes,
                "window": window,
                "all": ", ".join(f'"@p{number}"' for number in range(1, 41)),
                "says": "\n".join(
                    f'- {{at: 2s, as: p{number}, in: "@p{number}", say: "hello {number}"}}' for number in range(1, 41)
                ),
            }
            for name, platform, lanes, window in (("wide", "slack", "256", "10000"), ("narrow", "telegram", "4", "6"))
        },
    ),
    Family(
        name="promises",
        title="What people see exactly: $what",
        story="""
        A place where only an expectation can say what must be seen: $what, with buttons, results, and sends of clients.
        """,
        tags=("expectations", "$platform"),
        text="""
        gateway:
          channels: {$platform: {$setting}}
        world:
          people: [ana]
          $platform: {${guild}rooms: {ops: {}, den: {id: "$den"}}}
        cast:
          agents:
            main:
              - {when: {callback: clerk, outcome: ok}, do: [{reply: "found {result}"}]}
              - {when: {callback: clerk, outcome: error}, do: [{reply: "it failed: {result}"}]}
              - {when: {text: "work*"}, do: [{delegate: {hand: clerk, task: "{text}", label: it}}, {reply: "on it"}]}
              - {when: {text: choose}, do: [{send: {text: "which?", buttons: [red, green]}}, {silent: true}]}
              - do: [{reply: "I know: {memory}"}]
          hands: {clerk: [{when: {text: "*badly"}, takes: 3s, fails: "no ink"}, {takes: 3s, result: "it"}]}
        script:
          - {at: 1s, as: ana, in: "@ana", say: "work well"}
          - {at: 10s, as: ana, in: "@ana", say: "work badly"}
          - {at: 20s, as: ana, in: "@ana", say: "choose"}
          - {at: 25s, as: ana, in: "@ana", press: red}
          - {at: 30s, send: {to: den, text: "from a client"}}
        """,
        expect="""
        in_order: true
        accepted:
          - {in: "@ana", text: "on it", reply_to: "$first", identity: "", session: "@ana"}
          - {in: "@ana", text: "found it"}
          - {in: "@ana", text: "on it"}
          - {in: "@ana", text: "it failed: no ink"}
          - {in: "@ana", text: "which?", buttons: [$buttons]}
          - {in: "@ana", text: "I know: **red"}
          - {in: den, text: "from a client", session: den}
        transcripts:
          - {session: "$key", lines: ["assistant: from a client"]}
        hands:
          - {task: "work well", work: succeeded, callback: delivered, label: it, times: 1}
          - {task: "work badly", work: failed, callback: delivered}
        given:
          - {callback: clerk, outcome: ok, times: 1}
          - {callback: clerk, outcome: error, text: "no ink"}
        """,
        exercised=("R1", "M1", "C4"),
        rows={
            "reply-quoted": {
                "platform": "telegram",
                "what": "an answer that quotes its question",
                "setting": "reply_reference: true",
                "guild": "",
                "den": "-100400",
                "first": "m1",
                "buttons": "red, green",
                "key": "main:telegram:default:group:-100400",
            },
            "plain": {
                "platform": "slack",
                "what": "answers that quote nothing",
                "setting": "auto_thread: false",
                "guild": "",
                "den": "C400",
                "first": "",
                "buttons": "red, green",
                "key": "main:slack:default:channel:c400",
            },
        },
    ),
)
