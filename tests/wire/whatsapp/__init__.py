"""WhatsApp on the wire."""
