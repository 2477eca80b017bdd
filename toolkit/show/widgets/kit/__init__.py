"""What widgets share besides the explorer: numbers in words, still pictures, modules joined into one."""
