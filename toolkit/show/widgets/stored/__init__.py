"""Tables that take long to compute: kept as JSON beside the widgets, with the code that makes them."""
