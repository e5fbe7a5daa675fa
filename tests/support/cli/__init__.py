"""What tests of this area share."""
