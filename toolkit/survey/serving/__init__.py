"""The HTTP server of a collection: its page, its endpoints for reports and signatures, and its process."""
