"""The accounts of the gateway, and whether they are connected."""

from collections.abc import Callable

import msgspec

from trunkline.core.http.accounts import AccountState, LastFailure
from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint


class AccountList(msgspec.Struct, frozen=True, kw_only=True):
    """All accounts."""

    accounts: tuple[AccountState, ...]


@Endpoint(
    "GET",
    "/v1/accounts",
    Scope.READ,
    summary="The accounts, and whether they are connected to their platforms",
    answer=AccountList,
    always=True,
)
async def list_accounts(call: Call) -> AccountList:
    """Each account with the state of its connection. A process that stands by connects to nothing."""
    redact = call.served.admin.redact
    return AccountList(accounts=tuple(_without_secrets(account, redact) for account in call.served.accounts.all()))


def _without_secrets(state: AccountState, redact: Callable[[str], str]) -> AccountState:
    """The state, whatever a library has written into its error."""
    failure = state.failure
    if failure is None:
        return state
    shown = LastFailure(at=failure.at, reason=failure.reason, detail=redact(failure.detail))
    return msgspec.structs.replace(state, failure=shown)
