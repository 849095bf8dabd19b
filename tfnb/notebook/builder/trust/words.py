"""The names of attributes and methods that the builder may use of objects whose class it may not know.

The objects are those that listed functions have made, and plain data of the notebook. Invariant: no attribute of this
list leads from such an object to a module or to a function that is not listed.
"""

from __future__ import annotations

__all__ = ["ATTRIBUTES", "METHODS"]

# Of graphs, variables, cells, optimizers, data sets, queues and distributions: they add to a graph or look at one.
_OF_GRAPHS = """
add_loss add_update add_variable add_weight allow_soft_placement apply apply_gradients apply_grad as_default
as_graph_def as_graph_element as_list assert_has_rank assert_is_compatible_with assert_same_rank assign assign_add
assign_sub average average_name batch batch_scatter_update build cache call cdf close_op colocate_with
colocate_with_name compute_gradients concat concatenate container control_dependencies control_inputs count_up_to
covariance cross_entropy dequeue dequeue_many dequeue_up_to device enqueue enqueue_many entropy enumerate erase
eval_shape filter finalize flat_map forward forward_log_det_jacobian from_sparse_tensor_slices from_string_handle
from_structure from_tensor_slices from_tensors gather gather_nd get_attr get_collection get_collection_ref get_config
get_next get_operation_by_name get_operations get_shape get_slot get_slot_names get_tensor_by_name get_variable
get_variables_by_name global_step gradient_override_map graph_def identity initial_state initialized_value insert_many
insert interleave inverse inverse_log_det_jacobian is_compatible_with is_fully_defined is_initialized kl_divergence
list_files local_step log_cdf log_prob log_survival_function lookup make_initializable_iterator make_one_shot_iterator
map mean merge_with minimize mode name_scope ndims num_accumulated num_elements num_records_produced
num_work_units_completed padded_batch prefetch prob quantile range read read_up_to read_value reader_read reduce
repeat reset reuse_variables sample scatter scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_nd_add
scatter_nd_sub scatter_nd_update scatter_sub scatter_update set_shape set_weights shard shuffle size skip sparse_read
split stack stddev step_fn string_handle survival_function take take_grad unbatch uniform_noise unique_name unstack
value variables_to_restore variance window with_options with_rank with_rank_at_least with_rank_at_most write
zero_state zip
"""
# Of numbers, texts, lists, dicts, sets, arrays and generators of random numbers.
_OF_DATA = """
add all any append argmax argmin argsort astype beta binomial bit_length byteswap capitalize center choice clear clip
conj conjugate copy count cumprod cumsum decode diagonal difference dot encode endswith exponential extend find
flatten format fromkeys gamma get index insert integers intersection is_integer isalnum isalpha isdigit isdisjoint
isidentifier islower issubset issuperset isupper item items join keys laplace ljust lower lstrip max min most_common
multinomial multivariate_normal nonzero normal partition permutation permuted pop popleft poisson prod ptp rand
randint randn random random_integers random_sample ravel remove repeat replace reshape reverse rfind rjust round
rpartition rsplit rstrip searchsorted seed setdefault shuffle sort split splitlines squeeze standard_normal startswith
std strip sum swapaxes swapcase take throw title tobytes tolist trace transpose triangular uniform union update upper
values var view zfill
"""
METHODS = frozenset(_OF_GRAPHS.split()) | frozenset(_OF_DATA.split())

_LOOKED_AT = """
H T activation as_numpy_dtype attention axis base base_dtype batch_shape bias bijector categories cell cell_output
cells child_arguments components components_distribution dense_shape depth device dim dims distribution dtype dtypes
element_spec event_shape flat flow function_name graph handle height imag indices init initial_value initializer input
input_size inputs is_ref itemsize kernel kernel_size kl key keys loc logits losses max min mean name names nbytes ndim
ndims node_def non_trainable_variables non_trainable_weights num_groups num_units op operations outputs output_classes
output_dtype output_keep_prob output_shapes output_size output_types predicted_ids probs rank real rnn_output
row_lengths sample_id scale scope shape shapes size state state_size step strides tensors time total total_count
trainable trainable_variables trainable_weights type updates units value values variables weights width c h stop start
"""
ATTRIBUTES = METHODS | frozenset(_LOOKED_AT.split())
