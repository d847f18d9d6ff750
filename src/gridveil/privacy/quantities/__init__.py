"""Protected quantities of lines and generators: what each is, its noise, and the draw."""
