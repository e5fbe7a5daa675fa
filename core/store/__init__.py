"""The store: a port of typed commands and queries. `trunkline.core.store.sqlite` implements it."""

from trunkline.core.store.port import Store

__all__ = ["Store"]
