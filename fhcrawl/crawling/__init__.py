"""What components share: requests and responses, documents on their way to the store, the parser process."""
