"""Types of parameters that several endpoints have."""

from typing import Annotated

from msgspec import Meta

Limit = Annotated[int, Meta(ge=1, le=500, description="How many rows the page has at most.")]
Cursor = Annotated[str, Meta(max_length=2000, description="The `next` of the page before; empty: the beginning.")]
#: a text that names something
Name = Annotated[str, Meta(min_length=1, max_length=2000)]
Seconds = Annotated[float, Meta(ge=0, le=1e10)]
