"""Child processes, and what a process opens, keeps in the page cache, or how much it works."""
