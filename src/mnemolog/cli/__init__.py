"""The command line: a thin shell over the Memory. Data goes to stdout, everything else to stderr."""
