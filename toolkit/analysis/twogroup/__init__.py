"""Two groups asked with different odds: an innocuous question of unknown prevalence, people who do not
follow the instructions, and lists with and without the sensitive item.
"""
