"""Operations of a design with its matrix: reading answers, drawing reports, and estimating from them."""
