"""A real Matrix homeserver on loopback: `tools/synapse.sh` installs it."""
