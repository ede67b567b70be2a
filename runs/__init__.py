"""What a run is: the job, its roles from set-up to their end, and the record of what happened."""
