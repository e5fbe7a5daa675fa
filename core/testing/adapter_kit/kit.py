"""The conformance kit: the list of checks and how they run."""

import inspect
from collections.abc import Awaitable, Callable, Collection
from typing import Any, cast

import anyio

from trunkline.core.errors import UnknownName
from trunkline.core.testing.adapter_kit import check_actions as actions
from trunkline.core.testing.adapter_kit import check_failures as failures
from trunkline.core.testing.adapter_kit import check_inbound as inbound
from trunkline.core.testing.adapter_kit import check_sends as sends
from trunkline.core.testing.adapter_kit.check_run import CheckFailed, CheckRun
from trunkline.core.testing.adapter_kit.platform_double import MakeAdapter, NotTried
from trunkline.core.testing.adapter_kit.report import CheckResult, CheckVerdict, KitReport

_Check = Callable[[CheckRun], Awaitable[None]]
#: a check may take this many times the patience
_MOST_ANSWERS = 20

#: the checks by id: the public functions of the four modules, in their order
_BY_ID: dict[str, _Check] = {
    name.replace("_", "-"): check
    for module in (sends, actions, failures, inbound)
    for name, check in vars(module).items()
    if inspect.iscoroutinefunction(check) and check.__module__ == module.__name__ and not name.startswith("_")
}

#: every check by id, with the sentence that says what a conforming adapter does
CHECKS: dict[str, str] = {name: inspect.cleandoc(check.__doc__ or "") for name, check in _BY_ID.items()}


async def check_channel_adapter(
    make_adapter: MakeAdapter,
    *,
    only: Collection[str] | None = None,
    patience: float = 5.0,
    settle: float = 0.5,
    run: str = "",
) -> KitReport:
    """Check an adapter against its contract, each check with a new adapter. Failures are in the report, not raised.

    `only`: ids of checks, see `CHECKS`; raises `UnknownName` for others. `patience`: seconds after which a call counts
    as unanswered. `settle`: seconds to wait for late effects. `run`: a word in texts and keys, which must differ for
    each run if the platform remembers earlier ones.
    """
    names = tuple(_BY_ID if only is None else only)
    for name in names:
        if name not in _BY_ID:
            raise UnknownName(f"no check is called {name!r}; there are: {', '.join(_BY_ID)}")
    async with make_adapter() as bench:
        adapter = f"{bench.adapter.channel}:{bench.adapter.account}"
    options: dict[str, Any] = {"run": run, "patience": patience, "settle": settle}
    return KitReport(adapter=adapter, checks=tuple([await _try_check(make_adapter, name, options) for name in names]))


async def _try_check(make_adapter: MakeAdapter, name: str, options: dict[str, Any]) -> CheckResult:
    try:
        async with make_adapter() as bench:
            # Judge inside the context: a task group of the bench would wrap errors.
            verdict, evidence = await _judge(CheckRun(bench, name, **options), _BY_ID[name])
    except Exception as error:  # noqa: BLE001 -- a broken bench must not prevent the other checks
        verdict, evidence = CheckVerdict.FAILED, f"the bench raised {_in_one_line(error)}"
    return CheckResult(id=name, sentence=CHECKS[name], verdict=verdict, evidence=(evidence,) if evidence else ())


async def _judge(trial: CheckRun, check: _Check) -> tuple[CheckVerdict, str]:
    try:
        with anyio.fail_after(trial.patience * _MOST_ANSWERS):
            await check(trial)
    except TimeoutError:
        return CheckVerdict.FAILED, "it does not come to an end"
    except NotTried as error:
        return CheckVerdict.NOT_TRIED, error.facts
    except CheckFailed as error:
        return CheckVerdict.FAILED, str(error)
    except Exception as error:  # noqa: BLE001 -- any error of an adapter fails the check
        return CheckVerdict.FAILED, f"it raised {_in_one_line(error)}"
    return CheckVerdict.PASSED, ""


def _in_one_line(error: BaseException) -> str:
    """An error in a line; for a group, the first error."""
    if isinstance(error, BaseExceptionGroup):
        return _in_one_line(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return f"{type(error).__name__}: {error}"
