"""The rules of OpenClaw, quirks and defects included, so that its decisions can be explained and compared."""
