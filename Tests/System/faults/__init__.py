"""Model servers that fail in every known way: script/test faults."""
