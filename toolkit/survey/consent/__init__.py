"""The consent text and page data, generated from the designs, and a linter for rules that would break promises."""
