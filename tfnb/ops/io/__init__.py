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

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {
    "compressed_sound_json": "DecodeCompressed DecodePaddedRaw DecodeWav EncodeWav ShardedFilespec",
    "proto_messages": "DecodeProtoV2 EncodeProto",
    "sound_features": "AudioSpectrogram Mfcc",
}
