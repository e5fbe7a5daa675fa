"""What the servers of all platforms share."""
