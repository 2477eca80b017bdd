"""Out to other programs and back: SPSS, Stata, codebooks, forms of others, reports for readers, registrations."""
