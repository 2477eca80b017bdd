"""For whoever runs a server for others: in the foreground, seen from outside, and removed for good."""
