"""What becomes of a message whose request was answered badly, or not at all, over each kind of platform."""

from tests.families.family import Family

#: what can happen to a send -> the person whom it strikes
_WORLD = """
gateway:
  delivery: {backoff: [$waits], max_attempts: 3, max_age: 10m, lease: 30s$delivery}
  channels: {$platform: {text_limit: 24}}
world:
  people: [ana, bo, cy, di, eli, fay, gus, hal, ida, jo]
  $platform: {idempotency: $kind$more}
cast:
  agents:
    main:
      - do: [{reply: "re: {text}, and then this goes on over a second part"}]
script:
  - {at: 0s, fault: {on: send, do: lose-response, in: "@ana"}}
  - {at: 0s, fault: {on: send, do: drop, in: "@bo", nth: 2}}
  - {at: 0s, fault: {on: send, do: reset, in: "@cy"}}
  - {at: 0s, fault: {on: send, do: reset-before, in: "@di", nth: 2}}
  - {at: 0s, fault: {on: send, do: no-receipt, in: "@eli"}}
  - {at: 0s, fault: {on: send, do: $slow, in: "@fay", for: 18s}}
  - {at: 0s, fault: {on: send, do: error, in: "@gus", nth: 2, times: 5}}
  - {at: 0s, fault: {on: send, do: refuse, in: "@hal", nth: 2}}
  - {at: 0s, fault: {on: send, do: bad-receipt, in: "@ida"}}
  - {at: 0s, fault: {on: send, do: rate-limit, in: "@jo", for: 20s, times: 2}}
  - {at: 1s, as: ana, in: "@ana", say: one}
  - {at: 1s, as: bo, in: "@bo", say: two}
  - {at: 1s, as: cy, in: "@cy", say: three}
  - {at: 1s, as: di, in: "@di", say: four}
  - {at: 1s, as: eli, in: "@eli", say: five}
  - {at: 1s, as: fay, in: "@fay", say: six}
  - {at: 1s, as: gus, in: "@gus", say: seven}
  - {at: 1s, as: hal, in: "@hal", say: eight}
  - {at: 1s, as: ida, in: "@ida", say: nine}
  - {at: 1s, as: jo, in: "@jo", say: ten}
  $steps
  - {at: 150s, as: ana, in: "@ana", say: and now}
  - {at: 151s, as: bo, in: "@bo", say: and now}
"""
_OPERATORS = """
- {at: 90s, queue: {do: resolve, verdict: sent, in: "@ana", state: unknown}}
- {at: 91s, queue: {do: resolve, verdict: unsent, in: "@bo", state: unknown}}
- {at: 92s, queue: {do: resolve, verdict: abandon, in: "@cy", state: unknown}}
- {at: 93s, queue: {do: resolve, verdict: sent, in: "@di", state: unknown}}
- {at: 94s, queue: {do: retry, in: "@hal", state: partial}}
"""
_ENDS = """
- {at: 94s, queue: {do: retry, in: "@hal", state: partial}}
- {at: 120s, queue: {do: purge, state: delivered}}
"""
_CRASH = """
- {at: 3s, crash: {restart_after: 2s}}
- {at: 94s, queue: {do: retry, in: "@hal", state: partial}}
"""
_STOP = """
- {at: 6s, restart: {down: 3s}}
- {at: 94s, queue: {do: retry, in: "@hal", state: partial}}
"""

#: platform, what it offers against lost answers, and what happens meanwhile
_KINDS = {
    "telegram-nothing": ("telegram", "none", "an operator decides what is in doubt", _OPERATORS),
    "telegram-nothing-over-a-crash": ("telegram", "none", "the gateway dies meanwhile", _CRASH),
    "slack-lookup": ("slack", "lookup", "an operator retries the rest", _ENDS),
    "slack-lookup-over-a-crash": ("slack", "lookup", "the gateway dies meanwhile", _CRASH),
    "discord-key-over-a-crash": ("discord", "key", "the gateway dies meanwhile", _CRASH),
    "matrix-key": ("matrix", "key", "an operator retries the rest", _ENDS),
    "matrix-key-over-a-restart": ("matrix", "key", "the gateway is restarted meanwhile", _STOP),
    "whatsapp-nothing": ("whatsapp", "none", "an operator decides what is in doubt", _OPERATORS),
    "whatsapp-nothing-over-a-restart": ("whatsapp", "none", "the gateway is restarted meanwhile", _STOP),
    "signal-nothing": ("signal", "none", "an operator decides what is in doubt", _OPERATORS),
    "bluebubbles-nothing-over-a-crash": ("bluebubbles", "none", "the gateway dies meanwhile", _CRASH),
    "imessage-nothing": ("imessage", "none", "an operator decides what is in doubt", _OPERATORS),
    "msteams-nothing-over-a-crash": ("msteams", "none", "the gateway dies meanwhile", _CRASH),
}
_NAMES = {"none": "neither keys nor a look-up", "lookup": "a look-up", "key": "keys"}


def _row(platform: str, kind: str, what: str, steps: str, more: str = "", **others: str) -> dict[str, str]:
    slots = {"platform": platform, "kind": kind, "what": what, "steps": steps, "more": more, "delivery": ""}
    return slots | {"slow": "slow", "waits": "4s, 9s", "offers": _NAMES[kind]} | others


_ROWS = {name: _row(*row) for name, row in _KINDS.items()}
_ROWS["matrix-short-keys"] = _row(
    "matrix", "key", "keys are forgotten before the retry", _ENDS, ", key_seconds: 35s", waits="50s, 4s"
)
_ROWS["signal-marked-over-a-crash"] = _row(
    "signal",
    "none",
    "is sent again, marked, by the next process",
    _CRASH,
    delivery=", ambiguous: resend-marked",
    slow="drop",
)
_ROWS["telegram-marked"] = _row(
    "telegram",
    "none",
    "what is in doubt is sent again, marked",
    _ENDS,
    delivery=", ambiguous: resend-marked",
    slow="drop",
)

FAMILIES = (
    Family(
        name="doubt",
        title="Ten answers on $platform, each with a request that goes wrong, and $what",
        story="""
        Every answer has two parts, and each person's request goes wrong in another way: its answer is lost, it never
        arrives, the connection is reset after it or before it, the response names no message or a broken one, it takes
        too long, the platform fails, refuses the second part, or asks to wait. $platform offers $offers; $what.
        """,
        tags=("doubt", "delivery", "$platform"),
        text=_WORLD,
        exercised=("D1", "D4", "L1", "L3", "L5", "M1", "M2", "O1"),
        rows=_ROWS,
    ),
)
