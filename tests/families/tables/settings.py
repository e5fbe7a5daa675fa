"""Settings, steps and faults that stand in no other table, each over what it changes."""

from tests.families.family import Family

_WRONG = """
- {action: sned, with: {message: "x"}}
- {action: send, with: {message: "x", mesage: "y"}}
- {action: send, with: {message: "x", text: "y"}}
- {action: send, with: {message: "x", pollOption: [a]}}
- {action: send, with: {message: "flags are texts", silent: "true", bestEffort: "false"}}
- {action: send, with: {message: "x", silent: "perhaps"}}
- {action: send, with: {message: "x", target: {a: 1}}}
- {action: send, with: {message: "x", target: "@bo", to: "@ana"}}
- {action: send, with: {message: "x", channelId: "no such place at all"}}
- {action: send, with: {message: "x", channel: pigeon}}
- {action: send, with: {message: "x", channel: slack}}
- {action: send, with: {message: "x", accountId: moon}}
- {action: send, with: {message: "x", threadId: "thread of nobody"}}
- {action: send, with: {message: "x", buttons: "red"}}
- {action: send, with: {message: "x", buttons: [[{text: red}]]}}
- {action: send, with: {message: "x", buttons: [{text: red, callback_data: r}]}}
- {action: send, with: {message: "choose", buttons: '[[{{"text": "red", "callback_data": "r"}}, {{"text": "site", "url": "https://example.org"}}]]'}}
- {action: send, with: {message: "x", buttons: "[[broken"}}
- {action: send, with: {message: "x", card: "no object"}}
- {action: send, with: {message: "x", components: "{{broken"}}
- {action: send, with: {buffer: "no base64!", filename: f}}
- {action: send, with: {buffer: "data:text/plain;base64,aGk=", asVoice: "true", gifPlayback: false}}
- {action: send, with: {message: "too big", buffer: "aGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8=", filename: f}}
- {action: send, with: {message: "<think>hidden</think>seen", dryRun: "true"}}
- {action: send, with: {message: "  "}}
- {action: edit, of: m1, with: {message: "not mine"}}
- {action: edit, of: own, with: {message: "   "}}
- {action: edit, with: {messageId: "999999", message: "whose?"}}
- {action: edit, of: own, with: {newText: "mine, edited", buttons: []}}
- {action: delete, of: m1}
- {action: delete, with: {messageId: "no such"}}
- {action: unsend, of: m1}
- {action: react, of: m1, with: {remove: true}}
- {action: react, of: m1, with: {emoji: "x", remove: "true"}}
- {action: react, with: {messageId: "999999", emoji: "x"}}
- {action: reply, of: own, with: {message: "to myself"}}
- {action: thread-reply, with: {message: "where?"}}
- {action: poll, with: {pollQuestion: "one option?", pollOption: [a]}}
- {action: poll, with: {pollQuestion: "hours?", pollOption: [a, b], pollDurationHours: 0}}
- {action: poll, with: {pollQuestion: "seconds?", pollOption: [a, b], pollDurationSeconds: 30}}
- {action: poll, with: {pollQuestion: "both?", pollOption: [a, b], pollDurationSeconds: 30, pollDurationHours: 1}}
- {action: poll, with: {pollQuestion: "who?", pollOption: [a, b], pollAnonymous: true}}
- {action: poll, with: {pollQuestion: "many?", pollOption: [a, b, c, d, e, f, g, h, i, j, k, l, m]}}
- {action: poll, with: {pollOption: "a"}}
- {action: broadcast, with: {message: "to none", targets: []}}
- {action: broadcast, with: {message: "to some", targets: ["@bo", "nobody there", "@bo"]}}
- {action: broadcast, with: {message: "everywhere", channel: all, targets: ["@ana"]}}
- {action: kick, with: {target: "@bo"}}
- {action: read, with: {limit: "many"}}
- {action: read, with: {limit: 2, before: "999999"}}
- {action: search, with: {query: ""}}
- {action: poll-vote, with: {pollId: "p", pollOptionIndex: 1}}
- {action: poll-results, of: own}
- {action: topic-create, with: {name: ""}}
- {action: addParticipant, with: {chatId: 7}}
- {action: ""}
"""


def _acts(text: str) -> str:
    return "\n".join(f"- act: {line.removeprefix('- ')}" for line in text.strip().splitlines())


_POLICIES = {
    "closed": "{cross_context: {allow_within_provider: false}}",
    "across": "{cross_context: {allow_across_providers: true, marker: {within_provider: true, prefix: '[{channel}] ', suffix: ' (from there)'}}}",
    "unmarked": "{cross_context: {allow_across_providers: true, marker: {enabled: false}}, without_origin: {marked: false}}",
    "formerly": "{allow_cross_context_send: true}",
    "no-broadcast": "{broadcast: {enabled: false}, max_attachment: 4}",
    "few": "{broadcast: {max_sends: 2}, cross_context: {allow_across_providers: true}}",
    "last": "{without_origin: {reach: last}}",
    "nowhere": "{without_origin: {reach: none, targets: ['slack:channel:C100', telegram]}}",
}
_RELOADS = {
    "agents": "agents: [{id: main, default: true, prompt: You are new., tools: {message: {disabled_actions: [poll]}}}, {id: scout}]",
    "delivery": "delivery: {max_attempts: 2, backoff: [2s], failed_notice: '', max_interrupted: 3, closed_notice: 'It is closed.', notice_in_room: true}",
    "hands": "hands: {announce: direct, defaults: {deadline: 3s}, on_timeout: silent}",
    "turns": "turns: {max_attempts: 2, await_answer: 2s, failed_notice: 'It did not work.', error_notice: 'Something broke.', chain: 2}",
    "tools": "tools: {message: {cross_context: {allow_within_provider: false}}}",
    "openclaw": "profile: openclaw",
    "openclaw-2026-08": "profile: openclaw-2026-08",
    "bindings": "bindings: [{agent: scout, match: {channel: telegram, account: '*'}}]",
    "channels": "channels: {telegram: {text_limit: 20, chunk_mode: length, prompt: Be brief., reply_reference: true}}",
    "session": "session: {dm_scope: per-peer, group_scope: main}",
    "control": "control: {enabled: true, owners: ['telegram:1001']}",
    "schedule": "cron: [{id: tea, every: 20s, text: make tea, target: last}], heartbeat: {every: 30s, target: last}",
}
#: a step that stands among those of a row
_ONE = '- {at: 50s, as: bo, in: telegram/den, say: "one"}'
_PROCESSES = {
    "crash": "- {at: 30s, crash: {process: second, restart_after: 5s}}\n$one",
    "crash-both": "- {at: 30s, crash: {restart_after: 200s}}\n$one\n- {at: 100s, crash: {process: second, when: {event: intent.prepared}, restart_after: 5s}, may_miss: true}",
    "freeze": "- {at: 30s, crash: {restart_after: 200s}}\n$one\n- {at: 120s, freeze: {process: second, for: 70s}}",
    "restart": "- {at: 30s, restart: {process: second, down: 2s}}\n- {at: 40s, restart: {down: 100s, when: {event: peer.said}}}\n$one",
    "operators": (
        "- {at: 30s, crash: {restart_after: 300s}}\n$one\n"
        '- {at: 130s, queue: {do: retry, process: second, text: "refused*"}}\n'
        "- {at: 140s, hands: {do: cancel, process: second, label: slow}}\n"
        '- {at: 150s, send: {process: second, to: "telegram/@ana", text: "from the second"}}'
    ),
    "frozen-holder": "- {at: 30s, freeze: {for: 100s, when: {event: turn.started, delay: 100ms}}}\n$one",
}
_PHRASES = ("blocked", "chat-not-found", "kicked", "no-rights", "cant-parse", "too-long")
_NONSENSE = ("bytes", "number", "half-character", "cancelled", "exits", "takes-gateway-down")

_WORLD = "world: {people: {ana: {ids: {telegram: '1001', slack: U1ANA}}, bo: {}}, telegram: {rooms: {ops: {threads: [log]}, den: {}}}, slack: {rooms: {hall: {id: C100}}}}"

FAMILIES = (
    Family(
        name="tool-wrong",
        title="An agent on $platform calls its tool in every wrong way",
        story="""
        Unknown actions and parameters, values of wrong types, targets that are none, messages of others, polls that cannot
        be held. Each wrong call is an error for the agent, the turn goes on, and people see only what was right.
        """,
        tags=("tool", "actions", "$platform"),
        text="""
        gateway:
          channels: {$platform: {actions: {reactions: true}}}
          tools: {message: {max_attachment: 30}}
        world:
          people: [ana, bo]
          $platform: {${guild}rooms: [ops]}
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
          - {at: 1s, as: bo, in: ops, say: "a word before", id: m0}
          - {at: 2s, as: ana, in: ops, say: go, id: m1}
          - {at: 60s, as: ana, in: "@ana", say: "and in private"}
        """,
        exercised=("D1", "V1"),
        defaults={"calls": _acts(_WRONG), "guild": ""},
        rows={
            "telegram": {"platform": "telegram"},
            "discord": {"platform": "discord", "guild": "guild: acme, "},
            "bluebubbles": {"platform": "bluebubbles"},
        },
    ),
    Family(
        name="policy",
        title="What an agent may write elsewhere, with the policy $row",
        story="""
        With `$policy` an agent writes to other places of its platform, to another platform, and from a heartbeat, a wake-up
        and the schedule. What is denied is seen nowhere, and what is allowed shows where it comes from if it must.
        """,
        tags=("policy", "tool"),
        text=f"""
        gateway:
          agents: [{{id: main, default: true, tools: {{message: $policy}}}}, {{id: scout}}]
          control: {{owners: ["telegram:1001"]}}
          heartbeat: {{every: 2h, target: last}}
          cron: [{{id: tea, every: 50m, text: make tea}}]
        {_WORLD}
        cast:
          agents:
            main:
              - when: {{heartbeat: true}}
                do:
                  - send: {{to: telegram/ops, text: "a beat in ops"}}
                  - send: {{to: slack/hall, text: "a beat in the hall"}}
                  - reply: "a beat"
              - when: {{cron: tea}}
                do: [{{send: {{to: "telegram/@bo", text: "tea"}}}}, {{send: {{target: "channel:C100", channel: slack, text: "tea for the hall"}}}}, {{silent: true}}]
              - when: {{wake: true}}
                do: [{{act: {{action: react, to: telegram/ops, of: m1, with: {{emoji: "x"}}}}}}, {{send: {{to: telegram/den, text: "woken"}}}}, {{silent: true}}]
              - when: {{text: write}}
                do:
                  - send: {{text: "here", label: own, silent: true}}
                  - send: {{to: telegram/ops, text: "also here", reply_to: m1, account: default}}
                  - send: {{to: telegram/den, text: "next door", session: telegram/ops}}
                  - send: {{to: "telegram/@bo", text: "to bo", dry_run: true}}
                  - send: {{to: "telegram/@bo", text: "to bo"}}
                  - send: {{to: slack/hall, text: "to the hall", media: ["/tmp/plan.pdf"]}}
                  - act: {{action: edit, of: own, with: {{message: "here, edited"}}}}
                  - act: {{action: pin, to: telegram/den, of: own}}
                  - act: {{action: broadcast, to: [telegram/ops, telegram/den, "telegram/@bo"], with: {{message: "to all"}}}}
                  - act: {{action: upload-file, to: telegram/den, with: {{buffer: "aGVsbG8gaGVsbG8=", filename: "note.txt"}}}}
                  - reply: "written: {{status}} {{error}}"
              - do: [{{pause: 1s}}, {{reply: "I know: {{memory}}"}}]
            scout: [{{do: [{{reply: scout}}], may_miss: true}}]
        script:
          - {{at: 1s, as: ana, in: telegram/ops, say: write, id: m1}}
          - {{at: 20s, wake: {{agent: main, text: look}}}}
          - {{at: 30s, crash: {{restart_after: 1s}}}}
          - {{at: 121m, as: ana, in: telegram/den, say: "what do you know?"}}
        """,
        exercised=("P3", "D1"),
        rows={name: {"policy": policy} for name, policy in _POLICIES.items()},
    ),
    Family(
        name="reload",
        title="A reload of $row, in the middle of everything",
        story="""
        People write, a hand works and messages wait when the configuration is replaced: `$reload`. What was decided before
        stays as it was, what comes after follows the new one, over a restart too.
        """,
        tags=("reload", "configuration"),
        text=f"""
        gateway:
          agents: [{{id: main, default: true}}, {{id: scout}}]
          delivery: {{watch: 12h, lease: 12h}}
          turns: {{max_attempts: 3, await_answer: 4s, failed_notice: "I could not."}}
        {_WORLD}
        cast:
          agents:
            main:
              - {{when: {{callback: "*"}}, may_miss: true, do: [{{reply: "found: {{result}}"}}]}}
              - {{when: {{heartbeat: true}}, may_miss: true, do: [{{reply: "all is well here"}}]}}
              - {{when: {{cron: "*"}}, may_miss: true, do: [{{reply: "tea is ready"}}]}}
              - {{when: {{text: "work*"}}, do: [{{delegate: {{hand: clerk, task: "{{text}}"}}}}, {{reply: "on it"}}], may_miss: true}}
              - {{when: {{text: "fail*"}}, do: [{{fail: "no model"}}], may_miss: true}}
              - {{when: {{text: "poll*"}}, do: [{{act: {{action: poll, with: {{pollQuestion: "which?", pollOption: [a, b]}}}}}}, {{send: {{to: telegram/den, text: "next door"}}}}, {{reply: "{{status}} {{error}}"}}], may_miss: true}}
              - {{when: {{text: "dies*"}}, do: [{{nonsense: takes-gateway-down}}], may_miss: true}}
              - do: [{{think: 1s}}, {{reply: "main: {{memory}}"}}]
            scout:
              - do: [{{reply: "scout: {{memory}}"}}]
                may_miss: true
          hands: {{clerk: {{takes: 8s, result: "done with {{task}}", may_miss: true}}}}
        script:
          - {{at: 0s, fault: {{on: send, do: error, text: "*wait*", times: 3}}, may_miss: true}}
          - {{at: 1s, as: ana, in: telegram/ops, say: "work on this"}}
          - {{at: 2s, as: ana, in: "telegram/@ana", say: "wait for it"}}
          - {{at: 3s, as: bo, in: telegram/ops/log, say: "in the thread"}}
          $down
          - {{at: 5s, reload: {{$reload}}}}
          - {{after: 1s, as: ana, in: telegram/ops, say: "work on that"}}
          - {{after: 2s, as: ana, in: "telegram/@ana", say: "fail at it"}}
          - {{after: 1s, as: bo, in: telegram/ops/log, say: "poll them"}}
          - {{after: 3s, in: telegram/ops/log, archive: true, locked: true}}
          - {{after: 1s, send: {{to: telegram/ops/log, text: "wait in a closed thread"}}}}
          - {{at: 40s, as: bo, in: "slack/@bo", say: "dies of it"}}
          - {{at: 60s, restart: {{down: 1s}}}}
          - {{at: 62s, in: telegram/ops/log, unarchive: true}}
          - {{at: 80s, as: ana, in: "telegram/@ana", say: "what do you know?"}}
          - {{at: 90s, as: bo, in: telegram/ops, say: "what do you know?"}}
        """,
        exercised=("L1", "B2"),
        # The form of keys changes between two processes only.
        rows={
            name: {
                "reload": reload,
                "down": "- {at: 4s, crash: {restart_after: 2s}}" if reload.startswith("profile") else "",
                "exercised": "L1" if reload.startswith("profile") else "L1, B2",
            }
            for name, reload in _RELOADS.items()
        },
    ),
    Family(
        name="second",
        title="Two processes on one store, and what happens to them: $row",
        story="""
        A second process stands by while the first one works, and one of them goes away, freezes or stops, or operators and
        clients ask the second. One process at a time works the store, and everything ends once.
        """,
        tags=("processes", "lease"),
        text=f"""
        gateway:
          delivery: {{lease: 30s, backoff: [5s]}}
          hands: {{each: {{press: {{worker: true, deadline: 30m}}}}}}
        {_WORLD}
        cast:
          agents:
            main:
              - {{when: {{callback: "*"}}, may_miss: true, do: [{{reply: "found: {{outcome}}"}}]}}
              - {{when: {{text: "slow*"}}, do: [{{delegate: {{hand: press, task: "{{text}}", label: slow}}}}, {{reply: "on it"}}]}}
              - do: [{{reply: "re: {{text}}"}}]
          workers: {{wim: {{hand: press, takes_after: 20m, rules: {{works: 1s, result: late, may_miss: true}}}}}}
        script:
          - {{at: 0s, fault: {{on: send, do: refuse, text: "refused*"}}}}
          - {{at: 1s, as: ana, in: telegram/ops, say: "slow work"}}
          - {{at: 2s, send: {{to: telegram/den, text: "refused at first"}}}}
          - {{at: 5s, second: {{}}}}
          $steps
          - {{at: 180s, as: bo, in: telegram/den, say: "two"}}
          - {{at: 230s, as: ana, in: telegram/ops, say: "three"}}
        """,
        exercised=("D5", "L1"),
        rows={name: {"steps": steps.replace("$one", _ONE)} for name, steps in _PROCESSES.items()},
    ),
    Family(
        name="refusal",
        title="The platform refuses an answer and an edit in the words of $words",
        story="""
        Bo's answer is refused for good as $words, in a room, in private and in a thread, and so is an edit. Nobody is left in
        silence without a reason, nothing that was refused for good is sent again, and the next answer arrives.
        """,
        tags=("delivery", "refusals", "$platform"),
        text="""
        gateway:
          delivery: {notify_agent: true, failed_notice: "My answer was refused."}
        world:
          people: [ana, bo]
          $platform: {${guild}rooms: {ops: {threads: [log]}}}
        cast:
          agents:
            main:
              - {when: {text: "edit*"}, do: [{send: {text: "draft", label: own}}, {act: {action: edit, of: own, with: {message: "final"}}}, {reply: "edited"}]}
              - do: [{reply: "re: {text}"}]
        script:
          - {at: 0s, fault: {on: send, do: refuse, as: $words, text: "re: one"}}
          - {at: 0s, fault: {on: send, do: refuse, as: $words, text: "re: two", times: 2}}
          - {at: 0s, fault: {on: send, do: refuse, as: $words, text: "re: three"}}
          - {at: 0s, fault: {on: act, do: refuse, as: $words, action: edit}}
          - {at: 1s, as: bo, in: "@bo", say: one}
          - {at: 2s, as: bo, in: ops, say: two}
          - {at: 3s, as: ana, in: ops/log, say: three}
          - {at: 4s, as: ana, in: ops, say: edit it}
          - {at: 30s, queue: {do: retry, state: failed, in: "@bo"}}
          - {at: 60s, as: bo, in: "@bo", say: four}
          - {at: 61s, as: bo, in: ops, say: four}
        """,
        exercised=("L1", "L3", "L5"),
        rows={
            f"{platform}-{words}": {
                "platform": platform,
                "words": words,
                "guild": "guild: acme, " if platform == "discord" else "",
            }
            for number, words in enumerate(_PHRASES)
            for platform in (
                ("telegram", "discord", "matrix")[number % 3],
                ("slack", "telegram", "msteams")[number % 3],
            )
        },
    ),
    Family(
        name="nonsense",
        title="Agent, hand and hook misbehave: $what",
        story="""
        An agent, a hand, and hooks on replies, results, notices, sends and heartbeats misbehave: $what. The person hears that it
        did not work, a hook that is not required is passed over, and the gateway goes on.
        """,
        tags=("nonsense", "turns", "hooks"),
        text=f"""
        gateway:
          delivery: {{hook_timeout: 2s}}
          heartbeat: {{every: 2h, target: last}}
          turns: {{max_attempts: 2, failed_notice: "I gave up.", error_notice: "That went wrong."}}
          hands: {{defaults: {{on_restart: rerun, max_attempts: 2}}}}
        {_WORLD}
        cast:
          agents:
            main:
              - {{when: {{callback: "*"}}, may_miss: true, do: [{{reply: "found: {{outcome}}"}}]}}
              - {{when: {{heartbeat: true}}, may_miss: true, do: [{{reply: "the disk is full"}}]}}
              - {{when: {{text: "misbehave"}}, do: [{{send: {{text: "before"}}}}, {{nonsense: $what}}]}}
              - {{when: {{text: "delegate"}}, do: [{{delegate: {{hand: clerk}}}}, {{reply: "on it"}}]}}
              - {{when: {{text: "tool"}}, do: [{{send: {{text: "by tool"}}}}, {{silent: true}}]}}
              - do: [{{reply: "re: {{text}}"}}]
          hands: {{clerk: {{takes: 2s, nonsense: $what}}}}
          hooks:
            odd: {{priority: 3, when: {{text: "re: odd", kind: reply}}, nonsense: $what}}
            tools: {{when: {{kind: tool, text: "by tool"}}, nonsense: $mild}}
            beats: {{when: {{kind: heartbeat}}, change: "{{original}} (seen)", quote: ""}}
            notices: {{when: {{kind: notice}}, fail: "no notices", may_miss: true}}
            seconds: {{when: {{kind: second}}, change: "", may_miss: true}}
            posts: {{when: {{kind: announce}}, media: [], may_miss: true}}
            needed: {{priority: 1, required: true, when: {{text: "re: needed"}}, nonsense: $mild}}
            after: {{on: sent, when: {{text: "by tool"}}, fail: "the log is full"}}
        script:
          - {{at: 1s, as: ana, in: telegram/ops, say: misbehave}}
          - {{at: 20s, as: ana, in: telegram/ops, say: delegate}}
          - {{at: 40s, as: ana, in: telegram/ops, say: odd}}
          - {{at: 50s, as: ana, in: telegram/ops, say: tool}}
          - {{at: 60s, as: ana, in: telegram/ops, say: needed}}
          - {{at: 70s, reload: {{hands: {{announce: direct}}}}}}
          - {{at: 71s, as: ana, in: telegram/ops, say: delegate}}
          - {{at: 121m, as: ana, in: telegram/ops, say: fine}}
        """,
        exercised=("L1",),
        rows={
            what: {"what": what, "mild": "number" if what in ("takes-gateway-down", "exits") else what}
            for what in _NONSENSE
        },
    ),
    Family(
        name="transports",
        title="Accounts of $platform with transports and promises of their own",
        story="""
        One account sends over both transports and can look messages up, the other has only one and can find out nothing. The
        connection breaks and goes silent, look-ups fail, and a token is rotated. What an account can do decides what becomes of
        each message.
        """,
        tags=("accounts", "transports", "$platform"),
        text="""
        gateway:
          delivery: {backoff: [4s, 20s], max_attempts: 3}
        world:
          people: [ana, bo]
          $platform:
            accounts:
              one: {idempotency: $first, mode: hybrid}
              two: {idempotency: none, mode: direct}
              three: {idempotency: $third, mode: gateway}
            rooms: [ops]
        cast:
          agents: {main: [{do: [{reply: "re: {text}"}]}]}
        script:
          - {at: 0s, fault: {on: send, do: lose-response, in: "$platform:one/@ana"}}
          - {at: 0s, fault: {on: send, do: lose-response, in: "$platform:two/@ana"}}
          - {at: 0s, fault: {on: send, do: drop, in: "$platform:three/@ana"}}
          - {at: 0s, fault: {on: lookup, do: $lookup, for: 3s}, may_miss: true}
          - {at: 0s, fault: {on: send, do: refuse-connection, transport: direct, in: "$platform:one/@bo"}, may_miss: true}
          - {at: 0s, fault: {on: send, do: error, transport: gateway, in: "$platform:three/@bo"}, may_miss: true}
          - {at: 1s, as: ana, in: "$platform:one/@ana", say: "one"}
          - {at: 2s, as: ana, in: "$platform:two/@ana", say: "two"}
          - {at: 3s, as: ana, in: "$platform:three/@ana", say: "three"}
          - {at: 4s, as: bo, in: "$platform:one/@bo", say: "four"}
          - {at: 5s, as: bo, in: "$platform:three/@bo", say: "five"}
          - {at: 6s, crash: {restart_after: 2s}}
          - {at: 60s, fault: {on: connect, do: dead, in: "$platform:three/ops", for: 12s}}
          - {at: 62s, as: bo, in: "$platform:three/ops", say: "six"}
          - {at: 90s, rotate: {platform: $platform, account: two, tell: 5s}}
          - {at: 91s, as: ana, in: "$platform:two/@ana", say: "seven"}
          - {at: 120s, fault: {on: ready, do: error, in: "$platform:three/@ana", reason: "$unready", for: 10s}, may_miss: true}
          - {at: 121s, as: ana, in: "$platform:three/@ana", say: "eight"}
        """,
        exercised=("D1", "D4", "L3"),
        rows={
            "slack": {
                "platform": "slack",
                "first": "lookup",
                "third": "lookup",
                "lookup": "error",
                "unready": "slack-offline",
            },
            "matrix": {
                "platform": "matrix",
                "first": "key",
                "third": "lookup",
                "lookup": "drop",
                "unready": "matrix-offline",
            },
            "whatsapp": {
                "platform": "whatsapp",
                "first": "lookup",
                "third": "none",
                "lookup": "slow",
                "unready": "whatsapp-not-linked",
            },
            "telegram": {
                "platform": "telegram",
                "first": "lookup",
                "third": "key",
                "lookup": "error",
                "unready": "telegram-offline",
            },
        },
    ),
    Family(
        name="kept",
        title="What has ended is removed after its time, and what has not ended stays",
        story="""
        Finished messages, bindings, delegations and received messages are kept for two hours. A message in doubt and one that
        waits outlive that time, and a message that comes again within it is no new one.
        """,
        tags=("retention", "store"),
        text=f"""
        gateway:
          delivery: {{retention: 2h, watch: 30m, lease: 2h, max_age: 30h}}
          channels: {{telegram: {{thread_bindings: {{idle_timeout: 30m, farewell: "Goodbye."}}}}}}
        {_WORLD}
        cast:
          agents:
            main:
              - {{when: {{callback: "*"}}, do: [{{reply: "found: {{result}}"}}]}}
              - {{when: {{text: "work"}}, do: [{{delegate: {{hand: clerk}}}}, {{reply: "on it"}}]}}
              - do: [{{reply: "re: {{text}}"}}]
          hands: {{clerk: {{takes: 2s, result: "done", result_size: 200}}}}
        script:
          - {{at: 0s, fault: {{on: send, do: lose-response, text: "re: doubt"}}}}
          - {{at: 1s, as: ana, in: "telegram/@ana", say: work}}
          - {{at: 2s, as: bo, in: "telegram/@bo", say: doubt, id: m2}}
          - {{at: 3s, bind: {{in: telegram/den, session: telegram/ops}}}}
          - {{at: 4s, send: {{to: telegram/ops, text: "a client", key: k1}}}}
          - {{at: 20m, send: {{to: telegram/ops, text: "a client", key: k1}}}}
          - {{at: 30m, replay: {{messages: [m2]}}}}
          - {{at: 3h, restart: {{down: 1s}}}}
          - {{at: 26h, as: ana, in: "telegram/@ana", say: "still there?"}}
          - {{at: 26h, queue: {{do: resolve, verdict: sent, state: unknown}}}}
          - {{at: 54h, note: "another day has passed"}}
        """,
        exercised=("D1", "L1"),
        rows={"": {}},
    ),
)
