"""What the forests among the learners share, from settings to predictions."""
