"""The gateways that operators' commands ask: a store file, or a gateway that is running."""
