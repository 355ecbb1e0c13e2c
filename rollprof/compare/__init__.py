"""Two runs side by side: what changed, by how much, whether it is noise, and what a change in time is made of."""
