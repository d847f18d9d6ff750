"""The release of a load series: plan, run, folder, and its check."""
