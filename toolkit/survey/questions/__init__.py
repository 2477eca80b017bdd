"""Questions, the fields of surveys and questions, and the files that describe them."""
