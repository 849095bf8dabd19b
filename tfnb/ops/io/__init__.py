"""Files, files of records and CSV, readers of records, tf.Example, and tensors serialised as strings."""

FAMILIES = (
    "csv_files",
    "example_functions",
    "example_json",
    "example_parse",
    "files",
    "readers",
    "serialized_tensors",
)
