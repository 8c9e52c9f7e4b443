"""Text, JSON, Parquet and AnnData, read in batches of rows."""
