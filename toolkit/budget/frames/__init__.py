"""What is asked of a confidential frame: conditions on its rows, whose rows they are, and their sums."""
