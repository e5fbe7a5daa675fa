"""The state folder of an OpenClaw gateway: its sessions, its delivery queue, and what it would do after a restart."""
