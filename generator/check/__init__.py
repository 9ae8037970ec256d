"""The second kind of page: a public claim about speed, held against what must be read for a token."""
