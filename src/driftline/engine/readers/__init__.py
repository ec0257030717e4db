"""What a stream is read from, as columns of raw events.

inputs          one function for everything that can be read: files, tables, DataFrames, rows
python_rows     rows and events that are Python objects
chunks          the same part by part, for what is larger than memory or never ends
ahead           the next part, read while the engine works on the one before
growing         inputs that go on: what has come since they were last looked at
source_reader   a source while it is read, and what of it was not yet taken
csv_records     plain records in CSV; json_records: in JSON Lines; parquet_files: in Parquet
log_columns     the columns of an event log with their declared types
fitting         records with the types of their stream; those that do not fit are bad records
shapes          parts of structs by their names
epochs          numbers as times (`time_unit`)
"""
