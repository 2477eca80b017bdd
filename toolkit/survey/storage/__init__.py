"""Reports at rest: who is let in, decided once; SQLite and PostgreSQL; group commit by one thread."""
