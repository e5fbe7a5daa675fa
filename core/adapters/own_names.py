"""The names of the gateway's own accounts on their platforms: a post under any name starts no turn.

One account has several: on Signal a number and an id, on Slack a user and a bot. The accounts of a gateway share what
they know, since accounts that answer each other, where `bots` is ``allow``, would never come to an end.
"""

from trunkline.core.channels import rules_for
from trunkline.core.values import ChatKind


class OwnPost(Exception):
    """An update is a post of an account of the gateway."""

    def __init__(self, account: str, names: tuple[str, ...]) -> None:
        super().__init__(f"the account {account} of this gateway posted it")
        self.account = account
        #: all names that the update gives its author
        self.names = names


class OwnNames:
    def __init__(self) -> None:
        self._accounts: dict[tuple[str, str], str] = {}

    def of(self, channel: str, account: str) -> "OwnAccount":
        return OwnAccount(channel, account, self._accounts)


class OwnAccount:
    """The view of an account on the names of all accounts of the gateway on a platform."""

    def __init__(self, channel: str, account: str, accounts: dict[tuple[str, str], str]) -> None:
        self._channel = channel
        self._account = account
        self._accounts = accounts
        self._rules = rules_for(channel)

    def learn(self, *names: str | None) -> None:
        """Note names of this account, unless another account has the name already."""
        for name in filter(None, names):
            self._accounts.setdefault(self._key(name), self._account)

    def check(self, *names: str | None) -> None:
        """Raise `OwnPost` for an author with a name of an account of the gateway."""
        given = tuple(filter(None, names))
        for name in given:
            account = self._accounts.get(self._key(name))
            if account is not None:
                raise OwnPost(account, given)

    def _key(self, name: str) -> tuple[str, str]:
        return self._channel, self._rules.fold(ChatKind.DIRECT, name)
