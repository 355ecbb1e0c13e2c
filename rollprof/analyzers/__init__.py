"""Pure functions: tables -> frozen results. No input or output, no plotting, no printing."""
