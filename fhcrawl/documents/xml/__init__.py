"""Elements, encoding, entities and recovery of XML documents."""
