"""What OpenClaw lets pass in calls of the message tool, and what it requires."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trunkline.core.action_names import Action
from trunkline.core.actions.spec import ActionSpec, TargetMode
from trunkline.core.channels import known_channels
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import ActionCall, CallContext, PlannedCall
from trunkline.core.message_tool.parsing.params import Param, ParamType
from trunkline.core.message_tool.parsing.parse import ParameterRules
from trunkline.core.message_tool.planning.channel_choice import ChannelChoice
from trunkline.core.message_tool.planning.plan import BroadcastRules
from trunkline.core.message_tool.planning.requirements import CORE_NEEDS, TEXTS, RequirementRules
from trunkline.core.message_tool.planning.target_rules import LEGACY, TargetRules, named_text, wrong_target
from trunkline.core.reasons import Reason


class OpenClawParameters(ParameterRules):
    """Parameters that cannot be meant are ignored; only JSON has to be readable."""

    def check_known(self, name: str) -> None:
        """Unknown parameters are ignored."""

    def check_read(self, param: Param, error: InvalidAction) -> None:
        if param.type is ParamType.JSON:
            raise error

    def check_texts(self, texts: Mapping[str, str]) -> None:
        """The first text counts."""

    def check_taken(self, action: Action, names: Iterable[str]) -> None:
        """Parameters of other actions are ignored."""


class OpenClawChannelChoice(ChannelChoice):
    """A channel that is known is accepted; the call fails later if nothing serves it."""

    def accepts(self, name: str, served: Sequence[str]) -> bool:
        return name in served or name in known_channels()


class OpenClawCallTargets(TargetRules):
    """Former names are ignored beside `target`, and the current conversation is taken to another channel."""

    def check_former_names(
        self, target: str | None, to: str | None, channel_id: str | None, params: Mapping[str, object]
    ) -> None:
        """The first that is given counts."""

    def is_elsewhere(self, params: Mapping[str, object], context: CallContext) -> bool:
        return False


class MarchCallTargets(OpenClawCallTargets):
    """March minded blank former names too; models fill in what they do not use."""

    def check_former_names(
        self, target: str | None, to: str | None, channel_id: str | None, params: Mapping[str, object]
    ) -> None:
        blank = any(isinstance(params.get(name), str) for name in ("to", "channelId"))
        if blank and not (to or channel_id):
            raise wrong_target(LEGACY)

    def check_no_target(
        self, spec: ActionSpec, target: str | None, to: str | None, params: Mapping[str, object]
    ) -> None:
        beside = target and (to or named_text(params, "channelId"))
        if isinstance(params.get("to"), str) and not beside:
            raise wrong_target("Use `target` for actions that accept a destination.")
        super().check_no_target(spec, target, to, params)


class OpenClawBroadcasts(BroadcastRules):
    """Nothing is wrong with a broadcast as a whole."""

    def check(
        self, planned: PlannedCall, params: Mapping[str, object], context: CallContext, config: GatewayConfig
    ) -> None:
        """Each send fails by itself."""


class OpenClawRequirements(RequirementRules):
    """A text has to be named, and a poll may ask for what its channel cannot hold."""

    instead: Mapping[str, tuple[str, ...]] = {}

    def is_checked(self, planned: PlannedCall) -> bool:
        """A dry run ends before a channel looks at its action."""
        return not planned.dry_run and planned.call.action not in CORE_NEEDS

    def check_target(self, call: ActionCall, *, has_target: bool) -> None:
        if call.spec.target is TargetMode.TO and not has_target and not call.spec.aliases:
            raise InvalidAction("to required", Reason.NO_TARGET)

    def has(self, call: ActionCall, name: str) -> bool:
        return super().has(call, name) and (name in call.given or name not in TEXTS)

    def check_poll(self, call: ActionCall, channel: str) -> None:
        """Options that a channel does not have are ignored."""
