"""The address of a store on a PostgreSQL server. Nothing here needs a driver."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from trunkline.core.errors import UsageError

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class ServerAddress(msgspec.Struct, frozen=True):
    """The address of a store: the server's, for libpq, and the schema of the tables."""

    #: may hold the password
    url: str
    schema: str

    @property
    def shown(self) -> str:
        """The address as it can be typed again, without what may be secret."""
        parts = urlsplit(self.url)
        user, _, host = parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        return f"{parts.scheme}://{name + '@' if name else ''}{host}{parts.path}?schema={self.schema}"

    @property
    def has_password(self) -> bool:
        return ":" in urlsplit(self.url).netloc.rpartition("@")[0] or "password=" in self.url


def is_address(text: str) -> bool:
    """Whether a text names a server, and no file."""
    return text.startswith(("postgresql://", "postgres://"))


def server_address(url: str) -> ServerAddress:
    """Read ``postgresql://USER@HOST/DATABASE?schema=NAME``. Raises `UsageError`, which does not repeat the address."""
    try:
        parts = urlsplit(url if is_address(url) else "//[")
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        schema = query.pop("schema", "trunkline")
    except ValueError:
        raise UsageError("the address of a store on a server is postgresql://USER@HOST/DATABASE?schema=NAME") from None
    if not _SCHEMA.fullmatch(schema):
        raise UsageError(f"schema {schema!r}: expected small letters, digits and _")
    return ServerAddress(urlunsplit(parts._replace(query=urlencode(query))), schema)
