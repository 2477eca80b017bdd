"""The consent text and page data, generated from the designs, and the linter that rejects what would break them."""
