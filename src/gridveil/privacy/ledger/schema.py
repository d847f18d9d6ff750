"""The tables of a ledger, for SQLite and PostgreSQL alike.

Numbers that count for privacy are texts: exact fractions. `rows` is the chain (chain.py); what the
other tables hold follows from it, or is named there by its digest.
"""

VERSION = 2
BYTES = "BYTES"
"""Stands for the type of binary values, which the two name differently."""

ANY = ""
"""In the place of a distance: a loss holds at any distance."""
EACH = "each"
"""In the place of the distance that a release is counted at: another for each load."""
NO_ACCOUNT = 0
"""In the place of an account: a cap or distance of a whole register. In that of a register: of all.
"""

TABLES = f"""
CREATE TABLE ledger (identity TEXT PRIMARY KEY, version BIGINT NOT NULL, opened_at TEXT NOT NULL);
CREATE TABLE rows (
    number BIGINT PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL,
    head TEXT NOT NULL
);
CREATE INDEX rows_by_kind ON rows (kind);
CREATE TABLE registers (
    id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, network TEXT NOT NULL, digest TEXT NOT NULL,
    taken_over BIGINT NOT NULL
);
CREATE INDEX registers_by_digest ON registers (digest);
CREATE INDEX registers_by_network ON registers (network);
CREATE TABLE accounts (
    id BIGINT PRIMARY KEY, register BIGINT NOT NULL REFERENCES registers (id), kind TEXT NOT NULL,
    key TEXT NOT NULL, UNIQUE (register, kind, key)
);
CREATE TABLE surroundings (
    account BIGINT NOT NULL REFERENCES accounts (id), branch TEXT NOT NULL,
    PRIMARY KEY (account, branch)
);
CREATE TABLE branches (
    register BIGINT NOT NULL REFERENCES registers (id), branch TEXT NOT NULL,
    PRIMARY KEY (register, branch)
);
CREATE TABLE may_be (
    account BIGINT NOT NULL REFERENCES accounts (id),
    other BIGINT NOT NULL REFERENCES accounts (id),
    row_number BIGINT NOT NULL REFERENCES rows (number), PRIMARY KEY (account, other)
);
CREATE TABLE caps (
    register BIGINT NOT NULL, account BIGINT NOT NULL, metric TEXT NOT NULL, epsilon TEXT NOT NULL,
    PRIMARY KEY (register, account, metric)
);
CREATE TABLE distances (
    register BIGINT NOT NULL, account BIGINT NOT NULL, metric TEXT NOT NULL, distance TEXT NOT NULL,
    PRIMARY KEY (register, account, metric)
);
CREATE TABLE windows (
    register BIGINT NOT NULL, metric TEXT NOT NULL, hours BIGINT NOT NULL,
    PRIMARY KEY (register, metric)
);
CREATE TABLE floors (
    register BIGINT PRIMARY KEY REFERENCES registers (id), floor TEXT NOT NULL
);
CREATE TABLE load_groups (
    id BIGINT PRIMARY KEY, register BIGINT NOT NULL REFERENCES registers (id), name TEXT NOT NULL,
    UNIQUE (register, name)
);
CREATE TABLE members (
    load_group BIGINT NOT NULL REFERENCES load_groups (id),
    account BIGINT NOT NULL REFERENCES accounts (id), PRIMARY KEY (load_group, account)
);
CREATE TABLE group_caps (
    load_group BIGINT NOT NULL REFERENCES load_groups (id), metric TEXT NOT NULL,
    epsilon TEXT NOT NULL, PRIMARY KEY (load_group, metric)
);
CREATE TABLE releases (
    id TEXT PRIMARY KEY, row_number BIGINT NOT NULL UNIQUE REFERENCES rows (number),
    register BIGINT NOT NULL REFERENCES registers (id), specification TEXT NOT NULL,
    names TEXT NOT NULL, steps {BYTES} NOT NULL, first_hour BIGINT, losses TEXT,
    charge TEXT NOT NULL, cumulative TEXT NOT NULL, distance TEXT NOT NULL,
    elsewhere TEXT NOT NULL, first BIGINT NOT NULL
);
CREATE TABLE charges (
    account BIGINT NOT NULL REFERENCES accounts (id),
    row_number BIGINT NOT NULL REFERENCES rows (number), metric TEXT NOT NULL,
    distance TEXT NOT NULL, epsilon TEXT NOT NULL,
    PRIMARY KEY (account, row_number, metric, distance)
);
CREATE INDEX charges_by_row ON charges (row_number);
CREATE TABLE sums (
    account BIGINT NOT NULL REFERENCES accounts (id), metric TEXT NOT NULL, distance TEXT NOT NULL,
    epsilon TEXT NOT NULL, releases BIGINT NOT NULL, PRIMARY KEY (account, metric, distance)
);
CREATE TABLE dated (
    account BIGINT NOT NULL REFERENCES accounts (id),
    release TEXT NOT NULL REFERENCES releases (id), metric TEXT NOT NULL,
    distance TEXT NOT NULL, PRIMARY KEY (account, release)
);
"""
"""`may_be` has the accounts with caps or groups of their own that an account may be as well.
`floors` has the load in MVA below which the relative distances of a register become absolute ones.
`charges` is the record. `sums` has what it adds up to by account and distance, of snapshots
without a date, and `dated` names the releases with hours: a charge does not read all of it."""
