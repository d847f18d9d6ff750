"""The paper's tables and figures: definitions as data, and a module to each way of showing them."""
