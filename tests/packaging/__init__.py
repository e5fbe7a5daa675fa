"""What is built for distribution, installed and used outside the clone."""
