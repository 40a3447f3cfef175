"""Tables in and out of bulk prediction."""
