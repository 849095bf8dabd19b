"""What the browser sends is carried out and answered: edits, questions, and what is run."""
