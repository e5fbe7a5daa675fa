"""What people do on the homeserver, as messages for the gateway."""
