"""The second kind of page: a public claim of speed, held against what has to be read for a token and what fits where."""
