"""Text, JSON, Parquet and AnnData files, read in batches of rows."""
