"""What the tests of fake platforms share."""

#: a send that names a message as its thread opens it
BY_SENDING = ["slack", "matrix"]
