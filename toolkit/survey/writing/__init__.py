"""How surveys are written down: TOML and JSON, designs by name, the hash, and how a fault is said."""
