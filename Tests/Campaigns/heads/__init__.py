"""Valid and invalid response heads, read by the service, by libcurl and by other parsers."""
