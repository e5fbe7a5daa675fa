"""Delegated work: limits, outcomes, operators, workers; and clients of the gateway's API."""

from tests.families.family import Family

_LIMITS = {
    "open": ("in all at most two tasks are open", "limits: {open: 2}"),
    "session": ("a session has at most one open task", "limits: {open_per_session: 1}"),
    "running": ("one task runs at a time", "limits: {running: 1}"),
    "task": ("a task has at most 20 characters", "limits: {max_task: 20}"),
    "result": ("a result has at most 12 characters", "limits: {max_result: 12}"),
    "inline": ("results of more than 10 characters are stored by their content", "limits: {inline_result: 10}"),
    "age": ("a delegation may be 20 seconds old", "limits: {max_age: 20s}"),
    "depth": ("one delegation may stand above another, and no third", "limits: {depth: 1}"),
    "no-agents": ("agents are no hands", "agents: false"),
    "callers": ("only the scout may use the clerk", "each: {clerk: {callers: [scout]}}"),
    "deadline": ("the clerk has five seconds, and nobody is told", "on_timeout: silent, defaults: {deadline: 5s}"),
    "deadline-told": ("the clerk has five seconds", "defaults: {deadline: 5s}, prompt: Say what became of it."),
    "rerun": ("a task runs again after a crash", "defaults: {on_restart: rerun, max_attempts: 2}"),
    "direct": ("results are posted as they are", "announce: direct"),
    "cancel-told": ("who asked hears of a cancelled task", "on_cancel: report"),
    "cancel-silent": ("nobody hears of a cancelled task", "on_cancel: silent"),
}

_HANDS = """
gateway:
  agents: [{id: main, default: true, prompt: You are the clerk.}, {id: scout}]
  hands: {$hands}
  turns: {chain: 4, chain_pause: 30s, chain_notice: "I stop here."}
world:
  people: [ana, bo]
  $platform: {rooms: [ops, den]}
cast:
  agents:
    main:
      - {when: {callback: clerk, outcome: ok, label: big}, may_miss: true, do: [{reply: "big: {outcome}"}]}
      - {when: {callback: "*", outcome: timeout}, may_miss: true, do: [{reply: "{hand} was too late: {result}"}]}
      - {when: {callback: "*", outcome: error}, may_miss: true, do: [{reply: "{hand} failed: {result}"}]}
      - {when: {callback: "*", outcome: cancelled}, may_miss: true, do: [{reply: "{hand} was stopped"}]}
      - {when: {callback: "*", outcome: lost}, may_miss: true, do: [{reply: "{hand} is lost"}]}
      - {when: {callback: "*"}, may_miss: true, do: [{reply: "{label}: {result}"}]}
      - when: {text: "much"}
        do:
          - delegate: {hand: clerk, task: "first", label: one}
          - delegate: {hand: clerk, task: "second, which is much longer than the others", label: two, timeout: 40s}
          - delegate: {hand: scout, task: "third", label: three}
          - delegate: {hand: main, task: "fifth"}
          - delegate: {hand: clerk, task: "fail", label: four}
          - check: true
          - reply: "{open} open: {delegations} ({status}, {error})"
      - {when: {text: "stop*"}, do: [{cancel: two}, {cancel: last}, {cancel: big}, {reply: "stopped: {status} {error}"}]}
      - {when: {text: "big"}, do: [{delegate: {hand: clerk, task: "big", label: big}}, {reply: "on it"}]}
      - do: [{reply: "I know: {memory}"}]
    scout:
      - {when: {callback: "*"}, may_miss: true, do: [{reply: "scout heard {outcome}"}]}
      - when: {task: "*"}
        may_miss: true
        do: [{delegate: {hand: clerk, task: "below", label: below}}, {reply: "and: {status} {error}"}]
  hands:
    clerk:
      - {when: {text: "fail"}, takes: 3s, fails: "no paper", may_miss: true}
      - {when: {text: "big"}, takes: 2s, result: "lamp ", result_size: 300, may_miss: true}
      - {takes: 12s, progress: [{at: 1s, text: "begun"}, {at: 4s, text: "half of it"}], result: "done with {task}", may_miss: true}
script:
  - {at: 1s, as: ana, in: ops, say: much}
  - {at: 2s, as: bo, in: den, say: much}
  - {at: 6s, as: ana, in: ops, say: stop it}
  - {at: 7s, crash: {restart_after: 3s}}
  - {at: 40s, as: ana, in: ops, say: big}
  - {at: 90s, as: bo, in: den, say: "and now?"}
"""

_VERBS = {
    "cancel": ("are cancelled", "- {at: 5s, hands: {do: cancel, label: cards$outside}}", ""),
    "answer": ("are answered by a program", '- {at: 5s, hands: {do: answer, label: cards, result: "by hand"}}', ""),
    "answer-fails": (
        "are ended with an error by a program",
        '- {at: 5s, hands: {do: answer, task: "cards*", fails: "no ink"}}',
        "",
    ),
    "retry": (
        "are reported again",
        '- {at: 0s, fault: {on: send, do: refuse, text: "$said*"}}\n- {at: 60s, hands: {do: retry-callback, label: cards$outside}}',
        "",
    ),
    "discard": (
        "are not reported",
        '- {at: 0s, fault: {on: send, do: refuse, text: "$said*"}}\n- {at: 60s, hands: {do: discard, label: cards$outside}}',
        "",
    ),
    "discard-waiting": (
        "are discarded while their report waits",
        '- {at: 0s, fault: {on: send, do: error, text: "$said*", times: 2}}\n- {at: 22s, hands: {do: discard, label: cards$outside}}',
        "",
    ),
    "doubt": (
        "are in doubt, and decided",
        '- {at: 0s, fault: {on: send, do: lose-response, text: "$said*"}}\n'
        "- {at: 60s, queue: {do: resolve, verdict: $verdict, state: unknown}}",
        "",
    ),
    "again": (
        "have a turn that fails, which runs again",
        "- {at: 60s, hands: {do: retry-callback, label: cards$outside}}",
        '- {when: {callback: "*", text: "cards*"}, do: [{fail: "no model"}]}',
    ),
    "discard-failed": (
        "have a turn that fails, and are discarded",
        "- {at: 60s, hands: {do: discard, label: cards$outside}}",
        '- {when: {callback: "*", text: "cards*"}, do: [{fail: "no model"}]}',
    ),
    "discard-in-turn": (
        "are discarded while their turn runs",
        "- {at: 22s, hands: {do: discard, label: cards$outside}}",
        '- {when: {callback: "*", text: "cards*"}, do: [{think: 20s}, {reply: "found: {result}"}]}',
    ),
    "crash-in-turn": (
        "have a turn that a crash interrupts",
        "- {at: 24s, crash: {restart_after: 2s}}",
        '- {when: {callback: "*", text: "cards*"}, do: [{think: 10s}, {reply: "found: {result}"}]}',
    ),
}


def _verb(name: str, *, outside: bool, verdict: str = "sent", announce: str = "turn") -> dict[str, str]:
    what, steps, rule = _VERBS[name]
    slots = {"what": what, "rule": rule, "announce": announce}
    slots["where"] = "from another process" if outside else "in the gateway"
    slots["steps"] = steps.replace("$outside", ", outside: true" if outside else "").replace("$verdict", verdict)
    slots["steps"] = slots["steps"].replace("$said", "found" if announce == "turn" else "cards of")
    return slots


_OPERATORS = """
gateway:
  hands: {announce: $announce, each: {press: {worker: true, deadline: 3m}}}
  delivery: {watch: 2s, backoff: [6s, 20s]}
world:
  people: [ana]
  telegram: {rooms: [ops]}
cast:
  agents:
    main:
      $rule
      - {when: {callback: "*"}, may_miss: true, do: [{reply: "found: {result}"}]}
      - {when: {text: "print*"}, do: [{delegate: {hand: press, task: "cards {text}", label: cards}}, {delegate: {hand: press, task: "more", label: more}}, {reply: "on it"}]}
      - do: [{reply: "I know: {memory}"}]
  workers:
    wim: {hand: press, rules: {works: 15s, progress: [{at: 2s, text: "half of it"}], result: "cards of {task}", may_miss: true}}
script:
  $faults
  - {at: 1s, as: ana, in: ops, say: print them}
  $later
  - {at: 120s, as: ana, in: ops, say: "and?"}
"""


def _split(row: dict[str, str]) -> dict[str, str]:
    """Faults stand at the beginning of the script."""
    lines = row.pop("steps").splitlines()
    first = [line for line in lines if line.startswith("- {at: 0s")]
    return {**row, "faults": "\n".join(first), "later": "\n".join(line for line in lines if line not in first)}


_WORKERS = {
    "twice": ("answers twice", "{works: 8s, result: printed, answers: 2, again_after: 3s}"),
    "never": ("never answers", "{works: 8s, result: printed, answers: 0}"),
    "wrong": ("answers with a wrong ticket", "{works: 8s, result: printed, ticket: wrong}"),
    "none": ("answers without a ticket", "{works: 8s, result: printed, ticket: none}"),
    "other": ("answers for another task", "{works: 8s, result: printed, names: other}"),
    "unknown": ("answers for a task that there is not", "{works: 8s, result: printed, names: unknown}"),
    "dies": ("dies with the task", "{works: 8s, dies: true}"),
    "fails": ("fails", "{works: 8s, fails: no ink}"),
    "big": ("answers with more than may be", "{works: 8s, result: ink, result_size: 500}"),
    "late": (
        "answers while no gateway runs",
        "{works: 20s, progress: [{at: 1s, text: begun}, {at: 30s, text: too late}], result: printed}",
    ),
}

_CLIENTS = """
gateway:
  agents: [{id: main, default: true}, {id: scout}]
  delivery: {max_text: 300, request_timeout: 4s, window: $window, lanes: $lanes, max_backlog: 60, hook_timeout: 2s}
world:
  people: {ana: {ids: {$platform: "$ana"}}, bo: {}}
  $platform: {${more}rooms: {ops: {id: "$ops"$threads}}}
cast:
  agents:
    main: [{do: [{reply: "I know: {memory}"}]}]
    scout: [{do: [{reply: "scout knows: {memory}"}], may_miss: true}]
  hooks:
    late: {on: sent, takes: 1s, may_miss: true}
    changes: {priority: 5, when: {text: "*change*", kind: send}, change: "{text} (changed)", may_miss: true}
    moves: {when: {text: "*elsewhere*"}, to: "@ana", may_miss: true}
    empties: {when: {text: "*nothing*"}, change: "", may_miss: true}
    stops: {when: {text: "*stop*"}, cancel: "it says stop", may_miss: true}
    raises: {when: {text: "*raise*"}, required: $required, fail: "broken", may_miss: true}
    slow: {when: {text: "*slow*"}, takes: 5s, required: $required, change: "too late", may_miss: true}
script:
  - {at: 0s, fault: {on: send, do: $fault, text: "*wrong*"}}
  - {at: 1s, send: {to: ops, text: "plain", key: k1, silent: true}}
  - {at: 1s, send: {to: ops, text: "plain", key: k1}}
  - {at: 2s, send: {to: [ops, "@ana", "@bo"], text: "to all", key: k2}}
  - {at: 3s, send: {to: ops, text: "", media: ["https://example.org/a.png", "/tmp/plan.pdf"]}}
  - {at: 4s, send: {to: ops, text: ""}}
  - {at: 5s, send: {to: ops, text: "a dry run", dry_run: true}}
  - {at: 6s, send: {to: ops, text: "this goes wrong", best_effort: $effort}}
  - {at: 7s, send: {to: ops, text: "choose", buttons: [red, green]}}
  - {at: 8s, send: {to: ops, poll: {question: "which?", options: [red, green], max_selections: 2, duration_hours: 3}}}
  - {at: 9s, send: {to: ops, poll: {question: "which?", options: [red], max_selections: 5}}}
  - {at: 10s, send: {to: ops, payload: '{"card": 1}'}}
  - {at: 11s, send: {to: ops, text: "please change", agent: scout}}
  - {at: 12s, send: {to: ops, text: "say it elsewhere"}}
  - {at: 13s, send: {to: ops, text: "nothing of it"}}
  - {at: 14s, send: {to: ops, text: "stop this"}}
  - {at: 15s, send: {to: ops, text: "raise it"}}
  - {at: 16s, send: {to: ops, text: "slow one"}}
  - {at: 20s, send: {to: ops, text: "by session", session: "main:main"}}
  - {at: 21s, send: {to: ops, text: "by place", session: "@ana", agent: main}}
  - {at: 22s, send: {to: ops, text: "by nonsense", session: "nobody:main"}}
  - {at: 23s, send: {to: ops, text: "no key", key: ""}}
  - {at: 24s, send: {target: "$target", channel: $platform, text: "to a target"}}
  - {at: 25s, send: {target: "$target", channel: $platform, account: moon, text: "by an account"}}
  - {at: 26s, send: {target: "$target", channel: voice, text: "by voice"}}
  - {at: 27s, send: {target: "", channel: $platform, text: "to nobody"}}
  - {at: 28s, send: {target: "$odd", channel: $platform, text: "to an odd target", thread: "77"}}
  - {at: 29s, send: {to: ops, text: "$long"}}
  - {at: 30s, crash: {restart_after: 1s}}
  - {at: 40s, send: {to: ops, text: "plain", key: k1}}
  - {at: 41s, send: {to: [ops, "@ana", "@bo"], text: "to all", key: k2}}
  - {at: 42s, send: {to: ops, text: "a dry run", key: k1, dry_run: true}}
  - {at: 50s, as: ana, in: ops, say: "what do you know?"}
  - {at: 51s, as: ana, in: "@ana", say: "what do you know?"}
"""


def _client(platform: str, ana: str, ops: str, target: str, odd: str, **more: str) -> dict[str, str]:
    found = {"platform": platform, "ana": ana, "ops": ops, "target": target, "odd": odd, "more": "", "threads": ""}
    found |= {"required": "true", "effort": "true", "fault": "lose-response", "window": "3", "lanes": "2"}
    return {**found, "long": "a very long text " * 20, **more}


_TARGETS = {
    "telegram": (
        "@ana",
        "telegram:1001",
        "-100700:topic:77",
        "tg:group:-100700",
        "https://t.me/ana",
        "t.me/ana",
        "1001",
        "+1",
        "room:x",
        "a b",
    ),
    "discord": (
        "user:1001",
        "<@1001>",
        "<@!1001>",
        "@1001",
        "channel:700",
        "<#700>",
        "thread:701",
        "group:7",
        "700",
        "#ops",
        "guild:1",
    ),
    "slack": (
        "user:U1ANA",
        "<@U1ANA>",
        "channel:C100",
        "#hall",
        "C100",
        "D1ANA",
        "G100",
        "mpim:G1",
        "x:y",
        "@ana",
        "ana",
    ),
    "matrix": (
        "@ana:example.org",
        "!r:example.org",
        "#lab:example.org",
        "room:!r:example.org",
        "user:@ana:example.org",
        "ana",
        "matrix:@ana:example.org",
        "!r",
        "$e",
    ),
    "whatsapp": (
        "+15550000001",
        "123-456@g.us",
        "whatsapp:+15550000001",
        "group:123@g.us",
        "ana",
        "+1",
        "x@lid",
        "0@broadcast",
    ),
    "signal": (
        "+15550000001",
        "signal:+15550000001",
        "group:YWJj",
        "username:ana.01",
        "u:ana.01",
        "uuid:1234",
        "ana",
        "signal:group:YWJj",
        "+",
    ),
    "bluebubbles": (
        "+15550000001",
        "chat_guid:iMessage;-;+15550000001",
        "chat_id:7",
        "chat_identifier:chat77",
        "ana@example.org",
        "imessage:+1555",
        "sms:+15550000001",
        "group:x",
        "chat77",
    ),
    "imessage": (
        "+15550000001",
        "chat_guid:iMessage;+;chat77",
        "chat_id:7",
        "chat_identifier:chat77",
        "ana@example.org",
        "auto:+15550000001",
        "sms:ana@example.org",
        "??",
    ),
    "msteams": (
        "user:29:1abc",
        "conversation:19:abc@thread.tacv2",
        "19:abc@thread.tacv2",
        "19:abc@thread.tacv2;messageid=17",
        "29:1abc",
        "8:orgid:1",
        "channel:x",
        "a:1",
    ),
    "voice": ("+15550000001", "voice:+15550000001", "tel:+15550000001", "ana"),
}


def _sends(channel: str) -> str:
    return "\n".join(
        f'- {{at: {1 + number}s, send: {{target: "{target}", channel: {channel}, text: "to {number}", dry_run: {str(dry).lower()}}}}}'
        for dry in (True, False)
        for number, target in enumerate(_TARGETS[channel], len(_TARGETS[channel]) * (not dry))
    )


_WORLDS = {
    "telegram": 'telegram: {rooms: {ops: {id: "-100700", threads: {log: {id: "77"}}}}}',
    "discord": 'discord: {guild: acme, rooms: {ops: {id: "700", threads: {log: {id: "701"}}}}}',
    "slack": "slack: {rooms: {hall: {id: C100}}}",
    "matrix": 'matrix: {rooms: {lab: {id: "!r:example.org"}}}',
    "whatsapp": "whatsapp: {rooms: {team: {id: 123-456@g.us}}}",
    "signal": "signal: {rooms: [club]}",
    "bluebubbles": "bluebubbles: {rooms: [den]}",
    "imessage": "imessage: {rooms: [den]}",
    "msteams": 'msteams: {rooms: {desk: {id: "19:abc@thread.tacv2"}}}',
    "voice": "voice: {}",
}

FAMILIES = (
    Family(
        name="hands",
        title="Three people's worth of work, and $what",
        story="""
        Two people ask for much at once: tasks that run long, fail, are delegated further or to nobody. $what; one person stops
        what she asked for, and the gateway dies meanwhile. Each task ends once, and who asked hears of it or a reason says why not.
        """,
        tags=("hands", "limits"),
        text=_HANDS,
        exercised=("C4", "C5", "L2"),
        rows={
            name: {"what": what, "hands": hands, "platform": ("telegram", "slack", "signal")[number % 3]}
            for number, (name, (what, hands)) in enumerate(_LIMITS.items())
        },
    ),
    Family(
        name="operators",
        title="The results of a worker $what, $where",
        story="""
        A worker prints cards for Ana, whose results $what, $where. What is said of each report is what became of it.
        """,
        tags=("hands", "operators"),
        text=_OPERATORS,
        exercised=("C4", "C5"),
        rows={
            name: _split(row)
            for name, row in {
                "cancel": _verb("cancel", outside=False),
                "cancel-outside": _verb("cancel", outside=True),
                "answer": _verb("answer", outside=False),
                "answer-fails": _verb("answer-fails", outside=False),
                "retry": _verb("retry", outside=False),
                "retry-outside": _verb("retry", outside=True, announce="direct"),
                "discard": _verb("discard", outside=False, announce="direct"),
                "discard-outside": _verb("discard", outside=True),
                "discard-waiting": _verb("discard-waiting", outside=False),
                "discard-waiting-outside": _verb("discard-waiting", outside=True),
                "doubt-sent": _verb("doubt", outside=False),
                "doubt-unsent": _verb("doubt", outside=False, verdict="unsent"),
                "doubt-abandoned": _verb("doubt", outside=False, verdict="abandon"),
                "turn-again": _verb("again", outside=False),
                "turn-again-outside": _verb("again", outside=True),
                "turn-discarded": _verb("discard-failed", outside=True),
                "turn-stopped": _verb("discard-in-turn", outside=False),
                "turn-interrupted": _verb("crash-in-turn", outside=False),
            }.items()
        },
    ),
    Family(
        name="worker",
        title="A worker that $what",
        story="""
        Two tasks wait for a worker that $what, and the gateway is away for a while. The first proper answer counts, whatever
        else comes is refused or ignored with a reason, and Ana hears how each task ended.
        """,
        tags=("hands", "workers"),
        text="""
        gateway:
          hands: {watch: 3s, limits: {max_result: 400}, each: {press: {worker: true, deadline: 50s}}}
        world:
          people: [ana]
          matrix: {rooms: [ops]}
        cast:
          agents:
            main:
              - {when: {callback: press}, may_miss: true, do: [{reply: "{label}: {outcome} {result}"}]}
              - do: [{delegate: {hand: press, task: "{text} one", label: first}}, {delegate: {hand: press, task: "{text} two", label: second}}, {reply: "on it"}]
          workers:
            wim: {hand: press, takes_after: 1s, rules: $rules}
            pia: {hand: press, takes_after: 4s, rules: [{text: "nothing", may_miss: true}, {works: 6s, result: "by pia: {task}", may_miss: true}]}
        script:
          - {at: 1s, as: ana, in: ops, say: print}
          - {at: 15s, restart: {down: 20s}}
          - {at: 90s, as: ana, in: ops, say: again}
        """,
        exercised=("C5", "C6", "L2"),
        rows={name: {"what": what, "rules": rules} for name, (what, rules) in _WORKERS.items()},
    ),
    Family(
        name="clients",
        title="Clients of the gateway on $platform ask for everything that there is",
        story="""
        Texts, files, polls, buttons, broadcasts, dry runs and repeats, also over a crash, with hooks that change, move, empty
        or stop them; and requests with something missing or too much. Each client is told what became of its request.
        """,
        tags=("send", "clients", "hooks", "$platform"),
        text=_CLIENTS,
        exercised=("D1", "L3", "M1", "P2"),
        rows={
            "telegram": _client(
                "telegram", "1001", "-100700", "telegram:1001", "nobody at all", threads=", threads: {log: {id: '77'}}"
            ),
            "discord": _client(
                "discord", "1001", "700", "user:1001", "700", more="guild: acme, ", required="false", effort="false"
            ),
            "slack": _client("slack", "U1ANA", "C100", "user:U1ANA", "ana", fault="error"),
            "matrix": _client(
                "matrix",
                "@ana:example.org",
                "!r:example.org",
                "@ana:example.org",
                "ana",
                fault="refuse",
                required="false",
            ),
            "whatsapp": _client(
                "whatsapp",
                "+15550000001",
                "123-456@g.us",
                "+15550000001",
                "group:?",
                effort="false",
                fault="rate-limit",
            ),
            "signal": _client(
                "signal", "+15550000001", "abcd", "+15550000001", "u:", fault="refuse-connection", required="false"
            ),
            "bluebubbles": _client(
                "bluebubbles", "+15550000001", "chat77", "+15550000001", "chat_id:", fault="slow", effort="false"
            ),
            "msteams": _client("msteams", "29:1abc", "19:abc@thread.tacv2", "user:29:1abc", "desk", fault="drop"),
        },
    ),
    Family(
        name="targets",
        title="Targets of $channel in each form that people write",
        story="""
        A client sends to each form of a target, first as a dry run. What names a place is sent there or has no adapter; what
        names none, or several, is refused with its reason. Nobody else gets it.
        """,
        tags=("send", "targets", "$channel"),
        text="""
        gateway:
          channels: {$channel: {bots: ignore}}
        world:
          people: {ana: {ids: {telegram: "1001", discord: "1001", slack: U1ANA, whatsapp: "+15550000001"}}}
          $world
        cast:
          agents:
            main: [{do: [{reply: "I know: {text}"}], may_miss: true}]
        script:
          $sends
        """,
        exercised=("P2",),
        rows={
            channel: {"channel": channel, "world": _WORLDS[channel], "sends": _sends(channel)} for channel in _TARGETS
        },
    ),
)
