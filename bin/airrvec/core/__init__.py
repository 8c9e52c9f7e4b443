"""Code that every package uses: errors, schemas of all tables, reading and writing of Parquet."""
