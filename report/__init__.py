"""What a person sees of runs: reports, folders of files, pages, comparisons, terminal tables."""
