"""The heartbeat and the schedule: pure decisions, which `core.runtime.heartbeat` carries out (docs/heartbeat.md)."""
