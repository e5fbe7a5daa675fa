"""The HTTP API of a running gateway. Only `trunkline.app` imports it.

Serving needs the extra ``trunkline[http]``. Endpoints and their handlers, which commands use too, need none.
"""
