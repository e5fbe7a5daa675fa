"""The HTTP API of a running gateway; needs the extra ``trunkline[http]``. Only `trunkline.app` imports it."""
