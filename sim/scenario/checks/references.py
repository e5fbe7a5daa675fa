"""Where the names of a scenario file stand: a table from each kind of name to its paths."""

from trunkline.sim.scenario.model.world import PLATFORMS

#: the rules of agents and of hands, and the actions of agents
RULES = ("cast.agents.*[]", "cast.hands.*[]")
ACTIONS = "cast.agents.*[].do[]"

#: kind of name -> its paths; ``[]`` is every item (or the value itself), ``*`` every value of a mapping
REFERENCES: dict[str, tuple[str, ...]] = {
    "place": (
        *(f"{rule}.when.in" for rule in RULES),
        *(f"{ACTIONS}.send.to", f"{ACTIONS}.act.to[]"),
        *("cast.hooks.*.when.in", "cast.hooks.*.to"),
        "stored.sessions[].place",
        "script[].in",
        *("script[].webhook.in", "script[].bind.in", "script[].unbind.in"),
        "script[].send.to[]",
        "script[].queue.in",
        f"{ACTIONS}.delegate.reply_to",
        "expect.hands[].in",
        "script[].crash.when.in",
        "script[].freeze.when.in",
        "script[].restart.when.in",
        "script[].when.in",
        "script[].fault.in",
        "expect.accepted[].in",
        "expect.transcripts[].in",
        "expect.events[].in",
    ),
    "person": (
        *("script[].as", f"{ACTIONS}.act.user", *(f"{rule}.when.person" for rule in RULES)),
        *("expect.hands[].asked_by", "expect.given[].asked_by"),
    ),
    "session": (
        *(f"{ACTIONS}.send.session", "script[].send.session", "expect.accepted[].session"),
        *("script[].bind.session", "script[].unbind.session"),
    ),
    "agent": (
        *("script[].wake_heartbeat.agent", "script[].system_event.agent", "gateway.cron[].agent"),
        *("script[].wake.agent", "script[].send.agent", "script[].reset.agent"),
        *("script[].bind.agent", "script[].unbind.agent"),
        *("stored.sessions[].agent", "gateway.bindings[].agent", "script[].reload.bindings[].agent"),
        *("expect.hands[].agent", "expect.given[].agent"),
    ),
    "delegating agent": tuple(f"{rule}.when.task" for rule in RULES),
    "hand": (
        *(f"{ACTIONS}.delegate.hand", *(f"{rule}.when.callback" for rule in RULES)),
        *("script[].hands.hand", "expect.hands[].hand", "expect.given[].callback"),
    ),
    "label": (*("cast.agents.*[].when.label", "script[].hands.label", "expect.hands[].label"),),
    "label or last": (f"{ACTIONS}.cancel",),
    "channel": (
        *("gateway.bindings[].match.channel", "script[].reload.bindings[].match.channel"),
        *(f"{ACTIONS}.send.channel", "script[].send.channel"),
    ),
    "event": (
        *(f"script[].{step}when.event" for step in ("", "crash.", "freeze.", "restart.")),
        "expect.events[].kind",
    ),
    "reason": ("expect.events[].reason", "expect.hands[].reason"),
    "action": ("script[].fault.action",),
    "ability": tuple(f"world.{platform}.cannot[]" for platform in (*PLATFORMS, "plugins.*")),
    "state": ("expect.events[].state",),
    "bug": ("bugs[]", "with_bugs[]"),
    "plug-in agent": (f"{ACTIONS}.plugin",),
    "plug-in hand": ("cast.hands.*[].plugin",),
    "plug-in hook": ("cast.hooks.*.plugin",),
    "plug-in fault": ("script[].fault.plugin",),
    "invariant": ("breaks[]", "expect.exercised[]"),
    "changed text": ("cast.hooks.*.change",),
    "question": (
        "script[].fault.question",
        *(f"script[].{step}when.question" for step in ("", "crash.", "freeze.", "restart.")),
    ),
    "message": (f"{ACTIONS}.send.reply_to", f"{ACTIONS}.act.of"),
    "template": (
        *(f"{ACTIONS}.reply", f"{ACTIONS}.send.text", f"{ACTIONS}.delegate.task"),
        *("cast.hands.*[].result", "cast.hands.*[].progress[].text"),
        *("cast.workers.*.rules[].result", "cast.workers.*.rules[].progress[].text"),
        *(f"{ACTIONS}.act.with.*", f"{ACTIONS}.act.with.*[]"),
    ),
}
