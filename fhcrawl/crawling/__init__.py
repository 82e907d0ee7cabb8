"""Code that components share: requests and responses, documents being committed, the parser process."""
