"""A kit that tries a channel adapter against its contract: `check_channel_adapter(make_adapter)`.

For whoever writes an adapter. It needs no test runner: it is an async function that returns a `Report`. You give it a
`Bench`: your adapter, and what stands behind it, a double of the platform or a sandbox. What a bench cannot do, such as
losing a response, leaves checks that are reported as not tried, and never as passed.
"""

from trunkline.core.testing.adapter_kit.kit import CHECKS, check_channel_adapter
from trunkline.core.testing.adapter_kit.platform_double import Bench, MakeAdapter, NotTried, Seen
from trunkline.core.testing.adapter_kit.report import CheckResult, ContractBroken, Report, Verdict

__all__ = [
    "CHECKS",
    "Bench",
    "CheckResult",
    "ContractBroken",
    "MakeAdapter",
    "NotTried",
    "Report",
    "Seen",
    "Verdict",
    "check_channel_adapter",
]
