"""What operators ask of a gateway: one port, answered by a store file or by a gateway that is running."""
