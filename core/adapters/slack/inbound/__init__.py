"""What Slack delivers: by sockets or by HTTP, as envelopes."""
