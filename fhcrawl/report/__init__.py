"""One page of HTML with all that the store can say: read (`contents`), drawn (`plot`), written (`page`)."""
