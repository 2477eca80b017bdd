"""How a collection is run: its server in the background or in the foreground, tried from outside, and deleted at the end."""
