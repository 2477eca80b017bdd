"""What a model is fitted to: columns, formulas, designs row by row, and who stands behind the rows."""
