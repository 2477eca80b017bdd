"""Reports of any frame: counted where they are, and read as what a design can have."""
