"""Tables: many cells in one release; how far one person moves them, in which integers, and what is found from those."""
