"""Heartbeats and the schedule: targets, hours, owners, guards, failures and wake-ups."""

from tests.families.family import Family

_AGENTS = """
- {when: {heartbeat: true, text: "*What happened*"}, may_miss: true, do: [{reply: "something happened"}]}
- {when: {heartbeat: true}, may_miss: true, do: $beat}
- {when: {cron: "*"}, may_miss: true, do: [{reply: "as planned: {text}"}]}
- do: [{reply: "hello {peer}"}]
"""
_WORLD = """
gateway:
  # An idle gateway does nothing in between, so that a day is soon over.
  delivery: {watch: 12h, lease: 12h}
  control: {owners: [$owners]}
  channels:
    defaults: {heartbeat: {$visible}}
    telegram: {recipients: [$recipients], default_account: default, heartbeat: {$shown}, accounts: {default: {heartbeat: {$account}}}}
    whatsapp: {recipients: ["+15550000002"]}
  heartbeat: {every: $every, $heartbeat}
  $cron
world:
  people:
    ana: {ids: {telegram: "1001", whatsapp: "+15550000001"}}
    bo: {ids: {telegram: "1002", whatsapp: "+15550000002"}}
  files: {HEARTBEAT.md: "$file"}
  telegram: {accounts: {default: {}, night: {}}, rooms: {ops: {id: "-100700"}}}
  whatsapp: {}
cast:
  agents:
    main:
      $agents
script:
  $before
  - {at: 1s, as: ana, in: "telegram:default/@ana", say: "hi"}
  - {at: 2s, as: bo, in: "telegram:default/ops", say: "hi all"}
  $steps
  - {at: $until, note: "some runs have passed"}
"""
_ALERT = '[{reply: "the disk is full"}]'
_DEFAULTS = {
    "owners": '"telegram:1001"',
    "visible": "show_ok: false",
    "recipients": '"1002"',
    "shown": "",
    "account": "",
    "every": "2h",
    "file": "Look at the disk.",
    "agents": _AGENTS.replace("$beat", _ALERT),
    "steps": "",
    "before": "",
    "cron": "",
    "until": "9h",
    "exercised": "D1, H4",
    "beat": _ALERT,
}


def _beat(**slots: str) -> dict[str, str]:
    found = {**_DEFAULTS, **slots}
    return {**found, "agents": _AGENTS.replace("$beat", found["beat"])}


_OK = '[{reply: "HEARTBEAT_OK"}]'
_ROWS = {
    "owner": _beat(what="to the owner, who is the first of those that it knows", heartbeat="target: owner"),
    "owner-by-recipient": _beat(
        what="to the first recipient, since no owner is named", heartbeat="target: owner", owners=""
    ),
    "owner-unknown": _beat(
        what="to the recipient of another channel: no owner is provably a person",
        heartbeat="target: owner",
        owners='"discord:42"',
        recipients="",
    ),
    "last": _beat(what="to the last conversation, a room", heartbeat="target: last, prompt: Look around."),
    "none": _beat(what="to nobody: there is no target", heartbeat="target: none, text: Use your tools."),
    "channel": _beat(what="to a person of a channel", heartbeat='target: telegram, to: "1002", account_id: night'),
    "channel-without-person": _beat(what="to nobody: the channel has no last person", heartbeat="target: whatsapp"),
    "another-recipient": _beat(
        what="to the first recipient instead of a stranger", heartbeat='target: whatsapp, to: "+15550000001"'
    ),
    "unknown-account": _beat(what="by an account that there is not", heartbeat="target: telegram, account_id: moon"),
    "no-direct": _beat(
        what="to no direct conversation", heartbeat='target: telegram, to: "1001", direct_policy: block'
    ),
    "group-allowed": _beat(what="to rooms only", heartbeat="target: last, direct_policy: block"),
    "reasoning": _beat(
        what="with its reasoning first",
        heartbeat='target: last, include_reasoning: true, response_prefix: "[clerk] "',
        beat='[{reply: "Reasoning: it is 99 %\\n\\nthe disk is full"}]',
    ),
    "without-reasoning": _beat(
        what="without its reasoning",
        heartbeat='target: last, response_prefix: "[clerk] ", ack_max_chars: 0',
        beat='[{reply: "HEARTBEAT_OK Reasoning: it is 99 %\\n\\nthe disk is full"}]',
    ),
    "ok-shown": _beat(what="as a sign that all is well", heartbeat="target: last", shown="show_ok: true", beat=_OK),
    "ok-hidden": _beat(
        what="with nothing to say", heartbeat="target: last", beat=_OK, account="use_indicator: true, show_alerts: true"
    ),
    "ok-with-words": _beat(
        what="with a few words beside the token",
        heartbeat="target: last, ack_max_chars: 20",
        beat='[{reply: "**HEARTBEAT_OK** all is well here, and that is all I can say today"}]',
    ),
    "nothing": _beat(what="with no answer at all", heartbeat="target: last", beat="[{silent: true}]"),
    "no-reply": _beat(what="with the token of silence", heartbeat="target: last", beat='[{reply: "NO_REPLY"}]'),
    "alerts-off": _beat(what="though nobody may see it", heartbeat="target: last", account="show_alerts: false"),
    "alerts-and-ok-off": _beat(
        what="though nothing of it is shown",
        heartbeat="target: last",
        visible="show_ok: false, show_alerts: false, use_indicator: false",
    ),
    "empty-file": _beat(
        what="from a file that holds nothing to do",
        heartbeat="target: last, file: HEARTBEAT.md",
        file="# Tasks\\n\\n- \\n<!-- none -->\\n",
    ),
    "file": _beat(what="from a file", heartbeat="target: last, file: HEARTBEAT.md"),
    "no-file": _beat(what="from a file that there is not", heartbeat="target: last, file: OTHER.md"),
    "tasks": _beat(
        what="with tasks of their own intervals",
        heartbeat="target: last, file: HEARTBEAT.md",
        file="Be short.\\ntasks:\\n- name: inbox\\n  interval: 4h\\n  prompt: Look at the inbox.\\n- name: disk\\n  interval: 8h\\n  prompt: Look at the disk.\\n",
        beat='[{reply: "done {n}"}]',
    ),
    "no-tasks-due": _beat(
        what="when none of its tasks is due",
        heartbeat="target: last, file: HEARTBEAT.md",
        file="tasks:\\n- name: inbox\\n  interval: 6h\\n  prompt: Look at the inbox.\\n",
    ),
    "bad-tasks": _beat(
        what="with a list of tasks that cannot be read",
        heartbeat="target: last, file: HEARTBEAT.md",
        file="tasks:\\n- name: inbox\\n  interval: soon\\n",
    ),
    "fails": _beat(what="whose agent fails", heartbeat="target: last", beat='[{fail: "no model"}]'),
    "fails-over-crashes": _beat(
        what="that takes the gateway down", heartbeat="target: last", beat="[{nonsense: takes-gateway-down}]"
    ),
    "session": _beat(
        what="in a session of its own", heartbeat='target: owner, session: "main:telegram:default:direct:1001"'
    ),
    "quiet": _beat(
        what="in the night of its user only",
        heartbeat='target: last, user_timezone: Asia/Tokyo, active_hours: {start: "22:00", end: "06:00", timezone: user}',
        every="1h",
        until="23h",
    ),
    "busy": _beat(
        what="while its agent is busy",
        heartbeat="target: last, skip_when_busy: true",
        steps='- {at: 7190s, as: bo, in: "telegram:default/@bo", say: "think"}\n- {at: 4h, as: ana, in: "telegram:default/@ana", say: "think"}',
        before="",
    )
    | {
        "agents": _AGENTS.replace("$beat", _ALERT).replace(
            "- {when: {heartbeat: true}, may",
            '- {when: {text: think}, do: [{think: 40s}, {reply: "thought"}]}\n- {when: {heartbeat: true}, may',
            1,
        )
    },
    "wakes": _beat(
        what="whenever something wakes it",
        heartbeat="target: last",
        steps="""
- {at: 10m, wake_heartbeat: {agent: main, reason: hook, times: 3}}
- {at: 11m, wake_heartbeat: {reason: manual}}
- {at: 20m, system_event: {agent: main, text: "the door opened", source: door}}
- {at: 20m, system_event: {text: "it rains", wake: false}}
- {at: 21m, wake_heartbeat: {reason: exec-event}}
- {at: 21m, wake_heartbeat: {reason: "cron:tea"}}
- {at: 1300s, wake_heartbeat: {reason: whatever}}
- {at: 1301s, wake_heartbeat: {reason: interval}}
- {at: 1302s, crash: {restart_after: 2s}}
- {at: 1400s, system_event: {text: "later", wake: false}}
- {at: 3h, system_event: {text: "after a while", source: clock}}
- {at: 4h, restart: {down: 3h}}
""",
    ),
    "flood": _beat(
        what="not more often than it may",
        heartbeat="target: last",
        steps="\n".join(f"- {{at: {600 + 31 * n}s, system_event: {{text: event {n}}}}}" for n in range(4))
        + "\n"
        + "\n".join(f"- {{at: {694 + n}s, wake_heartbeat: {{reason: hook}}}}" for n in range(6)),
    ),
    "flood-of-wakes": _beat(
        what="not more than five times in a minute",
        heartbeat="target: last",
        steps="\n".join(f"- {{at: {600 + 5 * n}s, wake_heartbeat: {{reason: manual}}}}" for n in range(5))
        + '\n- {at: 651s, system_event: {text: "the door opened"}}\n- {at: 652s, wake_heartbeat: {reason: hook}}',
    ),
    "while-the-schedule-runs": _beat(
        what="after an entry of the schedule that runs long",
        heartbeat="target: last",
        cron="cron: [{id: tea, at: '1970-01-01T01:59:50Z', text: make tea, target: last}]",
    )
    | {
        "agents": _AGENTS.replace("$beat", _ALERT).replace(
            '{when: {cron: "*"}, may_miss: true, do: [', '{when: {cron: "*"}, may_miss: true, do: [{think: 30s}, '
        )
    },
    "nowhere": _beat(
        what="while it has no place yet",
        heartbeat="target: last",
        before='- {at: 0s, system_event: {text: "before anybody wrote"}}',
    ),
    "refused": _beat(
        what="to a person who blocked the bot",
        heartbeat="target: owner",
        before='- {at: 0s, fault: {on: send, do: refuse, as: blocked, text: "the disk*", times: 2}}',
    ),
    "in-doubt": _beat(
        what="whose delivery is in doubt",
        heartbeat="target: owner",
        before='- {at: 0s, fault: {on: send, do: lose-response, text: "the disk*"}}',
    ),
    "disabled": _beat(
        what="never: it has no interval",
        heartbeat="target: last",
        every="0m",
        exercised="D1",
        steps="- {at: 1h, wake_heartbeat: {}}",
    ),
}

_CRON = """
gateway:
  delivery: {watch: 12h, lease: 12h}
  agents: [{id: main, default: true, heartbeat: {every: 6h, target: last}}, {id: scout}]
  control: {owners: ["slack:U1ANA"]}
  cron:
    - {id: tea, $timing, text: "make tea", $rest}
    - {id: each, every: 100m, text: "look around", agent: scout, target: last}
world:
  people: {ana: {ids: {slack: U1ANA}}, bo: {}}
  slack: {accounts: {default: {}, second: {}}, rooms: {ops: {id: C100}}}
cast:
  agents:
    main:
      - {when: {heartbeat: true}, may_miss: true, do: [{reply: "seen"}]}
      - {when: {cron: tea}, may_miss: true, do: $do}
      - do: [{reply: "hello"}]
    scout:
      - {when: {cron: each}, do: [{send: {to: "slack:default/ops", text: "all quiet"}}, {silent: true}]}
script:
  - {at: 1s, as: ana, in: "slack:default/@ana", say: "hi"}
  - {at: 2s, as: bo, in: "slack:default/ops", say: "hi all"}
  - {at: 5h, restart: {down: 2h}}
  - {at: 9h, reload: {cron: [{id: tea, $again, text: "make more tea", $rest}]}}
  - {at: 30h, note: "a day has passed"}
"""
_TEA = '[{reply: "tea is ready"}]'


def _cron(
    timing: str, what: str, rest: str = "target: last", again: str = "every: 5h", do: str = _TEA
) -> dict[str, str]:
    return {"timing": timing, "what": what, "rest": rest, "again": again, "do": do}


_SCHEDULE = {
    "cron": _cron('cron: "30 */3 * * *"', "every three hours", again='cron: "15 2,4-6 * * mon-fri"'),
    "at": _cron('at: "1970-01-01T06:00Z"', "once, while no process runs", again='at: "1970-01-01T03:00Z"'),
    "past": _cron('at: "1969-12-31T06:00"', "at a time that has passed", again='at: "1970-01-02T01:00"'),
    "zone": _cron('cron: "0 9 * * *", timezone: Asia/Tokyo', "in the morning of another zone"),
    "owner": _cron("every: 3h", "for the owner", rest="target: owner"),
    "channel": _cron(
        "every: 3h", "for a person of a channel", rest='target: slack, to: "user:U1ANA", account_id: second'
    ),
    "nowhere": _cron("every: 3h", "for nobody", rest="target: none"),
    "no-target": _cron("every: 3h", "without a target", rest="agent: main"),
    "unknown": _cron("every: 3h", "by an account that there is not", rest="target: slack, account_id: moon"),
    "wakes-now": _cron("every: 3h", "by waking the heartbeat", rest="wake: now"),
    "wakes-next": _cron("every: 2h", "with the next heartbeat", rest="wake: next-heartbeat"),
    "fails": _cron("every: 3h", "by an agent that fails", do='[{fail: "no model"}]'),
    "silent": _cron("every: 3h", "in silence", do='[{reply: "NO_REPLY"}]'),
    "delegates": _cron(
        "every: 3h",
        "by a hand",
        do='[{delegate: {hand: scout, task: tea, reply_to: "slack:default/ops"}}, {silent: true}]',
    ),
}

FAMILIES = (
    Family(
        name="beat",
        title="A heartbeat says something, $what",
        story="""
        Ana and a room have written to the agent, and the heartbeat runs some times without them, $what. What it says goes
        where it is configured and nowhere else, no more often than it may, and each run that says nothing has its reason.
        """,
        tags=("heartbeat", "telegram"),
        text=_WORLD,
        exercised=("D1", "H4"),
        rows=_ROWS,
    ),
    Family(
        name="schedule",
        title="The schedule has tea made, $what",
        story="""
        One entry is due $what, another every hundred minutes. The gateway is down for two hours, and later the entry is
        changed by a reload. Each time takes place once, or is passed over with a reason.
        """,
        tags=("cron", "schedule", "slack"),
        text=_CRON,
        exercised=("H4",),
        rows=_SCHEDULE,
    ),
)
