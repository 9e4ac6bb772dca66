"""contend: research teams answer the same question in competing rounds; the best report wins."""
