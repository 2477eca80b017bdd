"""What a respondent is told and shown, made from the designs; and the linter, which refuses what would break
it.
"""
