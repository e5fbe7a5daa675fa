"""Changes and questions of the message tool on a homeserver."""
