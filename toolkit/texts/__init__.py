"""Every sentence that people read, once: one file per language in `languages/`, one loader, one voice."""
