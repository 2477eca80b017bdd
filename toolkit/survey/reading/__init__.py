"""Reports as a frame, counts where the reports are, and who answered."""
