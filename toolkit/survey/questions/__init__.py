"""What a survey is made of: questions, the fields of both, and the files that people write them in."""
