"""The configuration of a random scenario, and the parts of one for reloads."""

from typing import Any

from tests.random_scenarios.beats import heartbeat, make_beats
from tests.random_scenarios.draws import Draws
from tests.random_scenarios.world import THREADLESS, Ground

SCOPES = ("main", "per-peer", "per-channel-peer", "per-account-channel-peer")


def make_gateway(seed: int, ground: Ground) -> dict[str, Any]:
    draws = Draws(seed, "gateway")
    agents: list[dict[str, Any]] = [{"id": "main"}, *([{"id": "other"}] if draws.chance(0.4) else [])]
    if len(agents) > 1 and draws.chance(0.2):
        agents[1]["default"] = True
    names = [agent["id"] for agent in agents]
    made: dict[str, Any] = {"agents": agents}
    made |= draws.fields(
        profile=(0.03, lambda: draws.pick(("openclaw", "openclaw-2026-08"))),
        bindings=(0.35, lambda: [_rule(draws, ground, names) for _ in range(draws.number(1, 3))]),
        session=(0.4, lambda: session(draws, ground)),
        channels=(0.6, lambda: channels(draws, ground)),
        delivery=(0.6, lambda: delivery(draws)),
        hands=(0.4, lambda: hands(draws)),
        control=(0.3, lambda: _control(draws, ground)),
        tools=(0.7, lambda: {"message": message_tool(draws, ground)}),
    )
    if draws.chance(0.2):
        draws.pick(agents)["tools"] = {"message": message_tool(draws, ground)}
    default = next((agent["id"] for agent in agents if agent.get("default")), names[0])
    beats = make_beats(seed, ground, names, default)
    for agent in agents:
        if agent["id"] in beats:
            agent["heartbeat"] = beats.pop(agent["id"])
    return made | beats


def make_reload(draws: Draws, ground: Ground) -> dict[str, Any]:
    """A part of a configuration, for a `reload` step; never an empty one."""
    made = draws.fields(
        session=(0.4, lambda: session(draws, ground)),
        channels=(0.4, lambda: channels(draws, ground)),
        delivery=(0.4, lambda: delivery(draws)),
        hands=(0.3, lambda: hands(draws)),
        tools=(0.2, lambda: {"message": message_tool(draws, ground)}),
        heartbeat=(0.15, lambda: heartbeat(draws, ground)),
    )
    return made or {"delivery": delivery(draws)}


def session(draws: Draws, ground: Ground) -> dict[str, Any]:
    def links() -> dict[str, list[str]]:
        return {name: [f"{of}:{own}" for of, own in ids.items()] for name, ids in ground.ids.items() if ids}

    return draws.fields(
        dm_scope=(0.6, lambda: draws.pick(SCOPES)),
        group_scope=(0.3, lambda: draws.pick(("per-group", "main"))),
        identity_links=(0.3, links),
    )


def _rule(draws: Draws, ground: Ground, agents: list[str]) -> dict[str, Any]:
    platform = draws.pick(ground.platforms)
    match: dict[str, Any] = {"channel": platform}
    match |= draws.fields(account=(0.4, lambda: draws.pick([*ground.accounts[platform], "*"])))
    ids = [ids[platform] for ids in ground.ids.values() if platform in ids]
    kind = draws.pick(("direct", "group", "channel"))
    if draws.chance(0.5):
        match["peer"] = {"kind": kind, "id": draws.pick(ids) if ids and kind == "direct" else "*"}
    made: dict[str, Any] = {"agent": draws.pick(agents), "match": match}
    if draws.chance(0.3):
        match |= draws.fields(guild=(0.5, lambda: "acme"), roles=(0.5, lambda: ["dev"]))
    elif draws.chance(0.4):
        made["session"] = draws.fields(
            dm_scope=(0.7, lambda: draws.pick(SCOPES)), group_scope=(0.4, lambda: draws.pick(("per-group", "main")))
        )
    return made


def channels(draws: Draws, ground: Ground) -> dict[str, Any]:
    return {name: _channel(draws, ground, name) for name in draws.some(ground.platforms, 3, 1)}


def _channel(draws: Draws, ground: Ground, platform: str) -> dict[str, Any]:
    return draws.fields(
        bots=(0.3, lambda: "allow"),
        auto_thread=(0.0 if platform in THREADLESS else 0.4, lambda: True),
        reply_reference=(0.3, lambda: True),
        text_limit=(0.2, lambda: draws.pick((20, 60, 500))),
        chunk_mode=(0.2, lambda: draws.pick(("length", "newline"))),
        thread_bindings=(0.4, lambda: _thread_bindings(draws)),
        heartbeat=(0.2, lambda: _visibility(draws)),
        actions=(0.0 if platform == "msteams" else 0.1, lambda: {"reactions": draws.chance(0.5)}),
        default_account=(0.1, lambda: draws.pick(ground.accounts[platform])),
    )


def _visibility(draws: Draws) -> dict[str, Any]:
    return draws.fields(
        show_ok=(0.5, lambda: draws.chance(0.7)),
        show_alerts=(0.2, lambda: False),
        use_indicator=(0.2, lambda: False),
    )


def _thread_bindings(draws: Draws) -> dict[str, Any]:
    return draws.fields(
        enabled=(0.1, lambda: False),
        spawn_subagent_sessions=(0.5, lambda: True),
        idle_timeout=(0.2, lambda: draws.pick(("5s", "1m"))),
        max_age=(0.1, lambda: draws.pick(("10s", "2m"))),
        identity=(0.3, lambda: "webhook"),
        identity_fallback=(0.2, lambda: "none"),
        degraded_after=(0.2, lambda: 1),
        unarchive=(0.2, lambda: False),
        fallback=(0.3, lambda: "requester"),
        notice=(0.2, lambda: False),
        farewell=(0.2, lambda: "bye"),
        sweep=(0.2, lambda: "5s"),
    )


def delivery(draws: Draws) -> dict[str, Any]:
    return draws.fields(
        request_timeout=(0.3, lambda: draws.pick(("1s", "3s", "10s"))),
        hook_timeout=(0.15, lambda: draws.pick(("1s", "10s"))),
        max_attempts=(0.25, lambda: draws.pick((1, 2, 3, 8))),
        backoff=(0.3, lambda: draws.pick(([0], ["1s"], ["1s", "10s"], ["25s"]))),
        max_age=(0.15, lambda: draws.pick(("5s", "30s", "10m"))),
        ambiguous=(0.3, lambda: "resend-marked"),
        not_ready_wait=(0.2, lambda: draws.pick(("1s", "20s"))),
        recovery_rate=(0.15, lambda: draws.pick((0.5, 2, 20))),
        max_text=(0.05, lambda: 100),
        lanes=(0.15, lambda: draws.pick((1, 2))),
        window=(0.15, lambda: draws.pick((1, 3))),
        max_backlog=(0.15, lambda: draws.pick((1, 3, 5))),
        max_backlog_per_conversation=(0.15, lambda: draws.pick((1, 3))),
        lease=(0.1, lambda: draws.pick(("30s", "90s"))),
        watch=(0.1, lambda: "5s"),
        retention=(0.05, lambda: draws.pick(("1m", "1h"))),
    )


def message_tool(draws: Draws, ground: Ground) -> dict[str, Any]:
    """Where agents may write: mostly everywhere, so that there is something to see."""

    def marker() -> dict[str, Any]:
        return draws.fields(
            enabled=(0.3, lambda: False),
            within_provider=(0.4, lambda: True),
            prefix=(0.2, lambda: draws.pick(("<{channel}> ", ""))),
            suffix=(0.2, lambda: " (from {channel})"),
        )

    def cross_context() -> dict[str, Any]:
        return draws.fields(
            allow_within_provider=(0.15, lambda: False),
            allow_across_providers=(0.8, lambda: True),
            marker=(0.4, marker),
        )

    def without_origin() -> dict[str, Any]:
        return draws.fields(
            reach=(0.3, lambda: draws.pick(("last", "none"))),
            targets=(0.3, lambda: [draws.pick(ground.platforms)]),
            marked=(0.3, lambda: False),
        )

    return draws.fields(
        allow_cross_context_send=(0.1, lambda: True),
        cross_context=(0.9, cross_context),
        without_origin=(0.4, without_origin),
        broadcast=(0.2, lambda: draws.fields(enabled=(0.3, lambda: False), max_sends=(0.4, lambda: 2))),
        disabled_actions=(0.1, lambda: [draws.pick(("edit", "react", "delete", "poll", "pin"))]),
    )


def hands(draws: Draws) -> dict[str, Any]:
    def settings() -> dict[str, Any]:
        return draws.fields(
            deadline=(0.5, lambda: draws.pick(("3s", "1m"))), on_restart=(0.5, lambda: draws.pick(("lost", "rerun")))
        )

    return draws.fields(
        announce=(0.5, lambda: draws.pick(("turn", "direct"))),
        defaults=(0.5, settings),
        each=(0.3, lambda: {draws.pick(("hare", "snail")): settings()}),
    )


def _control(draws: Draws, ground: Ground) -> dict[str, Any]:
    owners = [f"{of}:{own}" for ids in ground.ids.values() for of, own in ids.items()]
    return {"enabled": True, **draws.fields(owners=(0.6, lambda: owners), names=(0.1, lambda: ["trunkline"]))}
