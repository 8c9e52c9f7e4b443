"""What every package uses: errors, the columns of all tables, reading and writing Parquet."""
