"""The figures of a plan worked out again in a browser: graphs traced with symbols, and the data of a page."""
