"""A released table as a document: what is public about it, its files, and a tidier copy for display."""
