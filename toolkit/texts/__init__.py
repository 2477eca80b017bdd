"""All sentences that people read: one file per language in `languages/`, one loader, one class that formats them."""
