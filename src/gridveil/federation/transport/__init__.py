"""How messages travel: identities, links, recordings."""
