"""From specs and numbers to a page: the book and ledger, marks, prose, figures, and the lint that holds the page to them."""
