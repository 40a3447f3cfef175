"""A model behind an address: what answers requests for rankings."""
