"""The paper's tables and figures: definitions as data, and a module for each kind."""
