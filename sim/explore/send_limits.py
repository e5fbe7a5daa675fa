"""When a crash may use up a message: its attempts, its age, or the time that a platform remembers its key."""

from __future__ import annotations

from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim.explore.run_digest import IntentDigest
from trunkline.sim.scenario import ScenarioFile

#: final states of an intent that was given up
_GIVEN_UP = (IntentState.DEAD, IntentState.EXPIRED, IntentState.UNKNOWN, IntentState.PARTIAL)


class SendLimits:
    """The strictest limits of all configurations that a scenario uses, and its marks for repeats."""

    def __init__(self, file: ScenarioFile) -> None:
        policies = [config.delivery for config in (file.scenario.gateway, *file.reloads)]
        sends = [step.send for step in file.scenario.script if step.send is not None]
        faults = [step.fault for step in file.scenario.script if step.fault is not None]
        self.marks = tuple(dict.fromkeys(one.mark for one in policies if one.ambiguous == "resend-marked"))
        self._attempts = min(one.max_attempts for one in policies)
        self._send_attempts = 1 if any(send.best_effort for send in sends) else self._attempts
        self._max_age = min(one.max_age for one in policies)
        #: the longest wait before the next attempt, which a decision may look ahead to
        self._wait = max(*(wait for one in policies for wait in one.backoff), *(fault.for_ for fault in faults), 0.0)
        #: whether faults of the script strike hands
        self.hand_faults = any(fault.on == "hand" for fault in faults)
        platforms = file.scenario.world.platforms
        self._key_seconds = {name: spec.key_seconds for name, spec in platforms.items()}

    def ran_out(self, intent: IntentDigest) -> bool:
        """Whether an intent was given up because something of it had run out."""
        if intent.state not in _GIVEN_UP:
            return False
        age = intent.ended_at - intent.prepared_at
        most = self._send_attempts if intent.body.intent_kind is IntentKind.SEND else self._attempts
        forgets = self._key_seconds[intent.body.address.channel]
        if age + self._wait * (intent.why is Reason.TOO_OLD) > self._max_age:
            return True
        if forgets is not None and age + self._wait * (intent.why is Reason.KEY_EXPIRED) > forgets:
            return True
        # A recovery counts an attempt that the dead process may have made.
        return max(intent.attempts.values(), default=0) + intent.recovered >= most
