"""What an operator may ask and order. Every face uses it and nothing else; it holds no rule of recovery and no SQL."""
