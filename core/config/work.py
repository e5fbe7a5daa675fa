"""Configuration of hands, turns and chat commands."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trunkline.core.config.base import Duration, Model


class HandConfig(Model):
    """Settings of one hand."""

    deadline: Duration = 1800.0
    """A run that has not ended after this long is reported as timed out."""
    on_restart: Literal["lost", "rerun"] = "lost"
    """What happens to a run whose process died: it is reported as lost, or run again if it is declared repeatable."""
    max_attempts: int = Field(default=3, gt=0)
    """How often a repeatable run is made if the process dies each time. Then it is reported as lost."""


class HandsConfig(Model):
    """How the results of async hands are reported."""

    announce: Literal["turn", "direct"] = "turn"
    """`turn`: the requester's agent receives the result and answers; `direct`: the result is posted unchanged."""
    defaults: HandConfig = HandConfig()
    each: dict[str, HandConfig] = Field(default_factory=dict)
    """Settings by hand id."""

    def of(self, hand: str) -> HandConfig:
        """Settings of one hand."""
        return self.each.get(hand, self.defaults)


class TurnsConfig(Model):
    """What happens to turns that take the process down."""

    max_attempts: int = Field(default=3, gt=1)
    """How often a turn is run if the process dies each time. Then it ends as failed. An orderly stop does not count."""
    failed_notice: str = "Sorry, I could not answer this message."
    """What the person then gets instead of an answer; empty for nothing."""


class ControlConfig(Model):
    """Chat commands to the gateway itself: `/focus`, `/unfocus`, `/agents`."""

    enabled: bool = False
    """Whether messages that begin with a command are handled by the gateway instead of an agent."""
    owners: tuple[str, ...] = ()
    """People who may bind and unbind any conversation, as `<channel>:<id>`."""
    names: tuple[str, ...] = ()
    """Names of the gateway's own bots, for commands such as `/focus@name`; if empty, any name matches."""
