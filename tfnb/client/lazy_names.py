"""The public names whose modules load when a program uses one of them, so that `import tfnb` does not pay for them.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
tf debugging : tfnb.client.logging.rank_dtype_checks : assert_near assert_proper_iterable assert_rank_in
tf debugging : tfnb.client.logging.rank_dtype_checks : assert_same_float_dtype assert_scalar
debugging : tfnb.client.logging.rank_dtype_checks : assert_shapes
app : tfnb.client.platform.flags : run
flags app.flags : tfnb.client.platform.flags : DEFINE_bool DEFINE_boolean DEFINE_enum DEFINE_float DEFINE_integer
flags app.flags : tfnb.client.platform.flags : DEFINE_list DEFINE_multi_enum DEFINE_multi_float DEFINE_multi_integer
flags app.flags : tfnb.client.platform.flags : DEFINE_multi_string DEFINE_spaceseplist DEFINE_string FLAGS
flags app.flags : tfnb.client.platform.flags : mark_flag_as_required mark_flags_as_required
flags app.flags : absl.flags : ArgumentParser ArgumentSerializer BaseListParser BooleanFlag BooleanParser
flags app.flags : absl.flags : CantOpenFlagFileError CsvListSerializer DEFINE DEFINE_alias DEFINE_flag
flags app.flags : absl.flags : DEFINE_multi DuplicateFlagError EnumFlag EnumParser Error Flag
flags app.flags : absl.flags : FlagNameConflictsWithMethodError
flags app.flags : absl.flags : FlagValues FloatParser IllegalFlagValueError IntegerParser ListParser ListSerializer
flags app.flags : absl.flags : MultiFlag UnparsedFlagAccessError UnrecognizedFlagError ValidationError
flags app.flags : absl.flags : WhitespaceSeparatedListParser adopt_module_key_flags declare_key_flag disclaim_key_flags
flags app.flags : absl.flags : doc_to_help flag_dict_to_args get_help_width mark_bool_flags_as_mutual_exclusive
flags app.flags : absl.flags : mark_flags_as_mutual_exclusive multi_flags_validator register_multi_flags_validator
flags app.flags : absl.flags : register_validator text_wrap validator
io.gfile : tfnb.client.platform.io_gfile : copy exists glob isdir listdir makedirs mkdir remove
io.gfile : tfnb.client.platform.io_gfile : rename rmtree stat walk
lookup : tfnb.client.lookup.tables : KeyValueTensorInitializer StaticHashTable StaticVocabularyTable
lookup : tfnb.client.lookup.tables : TextFileIndex TextFileInitializer
lookup.experimental : tfnb.client.lookup.tables : DenseHashTable
tf initializers : tfnb.client.lookup.vocabularies : tables_initializer
tf : tfnb.client.lookup.vocabularies : initialize_all_tables=tables_initializer
xla.experimental : tfnb.client.graph.compiler_scopes : jit_scope
tf : tfnb.ir.messages : TensorInfo
train : tfnb.ir.messages : ClusterDef JobDef SaverDef ServerDef
tf : tfnb.client.dataset.type_specs : IndexedSlicesSpec SparseTensorSpec TensorArraySpec TensorSpec TypeSpec
tf : tfnb.client.dataset.type_specs : RaggedTensorSpec
data.experimental : tfnb.client.dataset.type_specs : RaggedTensorStructure SparseTensorStructure Structure=TypeSpec
data.experimental : tfnb.client.dataset.type_specs : TensorArrayStructure TensorStructure get_structure
data.experimental : tfnb.client.dataset.experimental : AUTOTUNE Counter INFINITE_CARDINALITY RandomDataset
data.experimental : tfnb.client.dataset.experimental : UNKNOWN_CARDINALITY choose_from_datasets enumerate_dataset
data.experimental : tfnb.client.dataset.experimental : make_batched_features_dataset parse_example_dataset
data.experimental : tfnb.client.dataset.experimental : sample_from_datasets take_while unique
data : tfnb.client.dataset.options : Options
data.experimental : tfnb.client.dataset.options : DistributeOptions MapVectorizationOptions OptimizationOptions
data.experimental : tfnb.client.dataset.options : ThreadingOptions
data : tfnb.client.dataset.variants_resampling : DatasetSpec get_output_classes
data.experimental : tfnb.client.dataset.variants_resampling : DatasetStructure=DatasetSpec copy_to_device from_variant
data.experimental : tfnb.client.dataset.variants_resampling : get_single_element map_and_batch_with_legacy_function
data.experimental : tfnb.client.dataset.variants_resampling : rejection_resample to_variant
signal : tfnb.client.signal.cosine_transforms : dct fftshift idct ifftshift
spectral : tfnb.client.signal.cosine_transforms : dct idct
signal : tfnb.client.signal.spectra : frame hamming_window hann_window inverse_stft
signal : tfnb.client.signal.spectra : inverse_stft_window_fn linear_to_mel_weight_matrix
signal : tfnb.client.signal.spectra : mfccs_from_log_mel_spectrograms overlap_and_add stft
io : tfnb.client.io.proto_functions : decode_proto encode_proto
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
