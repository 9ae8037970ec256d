"""What is published beside the guides: reports of drift, the page and feed of changes."""
