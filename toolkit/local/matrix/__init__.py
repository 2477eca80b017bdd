"""Operations on the matrix of a design: reading answers, drawing reports, and estimating from the reports."""
