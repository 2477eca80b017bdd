"""Connections: counted at the door, watched, sent away when their place is needed; what is written on them."""
