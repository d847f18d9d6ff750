"""What members say to each other, and what they do about it."""
