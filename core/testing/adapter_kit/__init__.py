"""A kit that checks a channel adapter against its contract: `check_channel_adapter(make_adapter)`.

It is for authors of adapters and needs no test runner: an async function that returns a `KitReport`. You provide a
`Bench`: your adapter and the platform behind it, a double or a sandbox. Checks that need something the bench cannot do,
such as losing a response, are reported as not tried, never as passed.
"""

from trunkline.core.testing.adapter_kit.kit import CHECKS, check_channel_adapter
from trunkline.core.testing.adapter_kit.platform_double import Bench, MakeAdapter, NotTried, SeenMessage
from trunkline.core.testing.adapter_kit.report import CheckResult, CheckVerdict, ContractBroken, KitReport

__all__ = ["CHECKS", "Bench", "CheckResult", "CheckVerdict", "ContractBroken", "KitReport", "MakeAdapter", "NotTried"]
__all__ += ["SeenMessage", "check_channel_adapter"]
