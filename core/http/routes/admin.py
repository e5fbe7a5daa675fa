"""Administration of the running process."""

from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint
from trunkline.core.http.problems import Problem
from trunkline.core.http.served import Reloaded


@Endpoint(
    "POST",
    "/v1/admin/reload",
    Scope.OPERATE,
    summary="Read the configuration file again",
    answer=Reloaded,
    problems=(409, 422),
    tag="Administration",
)
async def reload(call: Call) -> Reloaded:
    """Read the configuration file again. With anything wrong in it, everything stays as it is."""
    read_again = call.served.admin.reload
    if read_again is None:
        raise Problem(
            409, "no-configuration", "This gateway was not started from a configuration that can be read again."
        )
    return read_again()
