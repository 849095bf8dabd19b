"""The modules inside `tf.contrib` that programs of its time imported: `tensorflow.contrib.seq2seq.python.ops.helper`.

Each line of the table is "package : modules : places"; an attribute of such a module is looked up in the places, which
are the part of contrib itself where none are listed. Invariant: as for `internal_modules`, no name is defined here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["VIEWS"]

_TABLE = """
copy_graph.python.util : copy_elements
crf.python.ops : crf
cudnn_rnn.python.layers : cudnn_rnn
cudnn_rnn.python.ops : cudnn_rnn_ops
data.python.ops : batching counter dataset_ops enumerate_ops error_ops get_single_element grouping interleave_ops
data.python.ops : parsing_ops prefetching_ops random_ops readers resampling scan_ops shuffle_ops unique
distribute.python : mirrored_strategy one_device_strategy monitor
distributions.python.ops : autoregressive batch_reshape bernoulli beta binomial categorical cauchy chi2 deterministic
distributions.python.ops : conditional_distribution conditional_transformed_distribution dirichlet exponential gamma
distributions.python.ops : dirichlet_multinomial distribution distribution_util geometric half_normal independent
distributions.python.ops : inverse_gamma kullback_leibler kumaraswamy laplace logistic mixture mixture_same_family
distributions.python.ops : moving_stats multinomial mvn mvn_diag mvn_diag_plus_low_rank mvn_full_covariance mvn_tril
distributions.python.ops : negative_binomial normal normal_conjugate_posteriors onehot_categorical poisson
distributions.python.ops : quantized_distribution relaxed_bernoulli relaxed_onehot_categorical sample_stats seed_stream
distributions.python.ops : sinh_arcsinh student_t transformed_distribution uniform vector_exponential_diag
distributions.python.ops : vector_laplace_diag wishart
distributions.python.ops.bijectors : affine affine_linear_operator affine_scalar absolute_value batch_normalization : @
distributions.python.ops.bijectors : chain cholesky_outer_product exp gumbel inline invert kumaraswamy permute : @
distributions.python.ops.bijectors : masked_autoregressive power_transform real_nvp reshape sigmoid softplus : @
distributions.python.ops.bijectors : sinh_arcsinh softmax_centered softsign square weibull fill_triangular : @
estimator.python.estimator : dnn dnn_linear_combined extenders head linear logit_fns multi_head replicate_model_fn
factorization.python.ops : clustering_ops kmeans
feature_column.python.feature_column : sequence_feature_column
framework.python.framework : checkpoint_utils graph_util tensor_util
framework.python.ops : gen_variable_ops ops script_ops sort_ops
framework.python.ops : audio_ops : audio contrib.framework
gan.python : namedtuples train
gan.python.losses.python : losses_impl tuple_losses_impl : contrib.gan.losses
image.python.ops : dense_image_warp image_ops interpolate_spline sparse_image_warp
integrate.python.ops : odes
layers.python.layers : embedding_ops encoders feature_column feature_column_ops normalization rev_block_lib
layers.python.ops : bucketization_op
learn.python.learn : basic_session_run_hooks evaluable experiment export_strategy
learn.python.learn : graph_actions : contrib.learn.graph_actions contrib.learn
learn.python.learn : learn_runner : contrib.learn.learn_runner
learn.python.learn : monitors : contrib.learn.monitors contrib.learn train
learn.python.learn : metric_spec trainable : contrib.learn estimator train
learn.python.learn.estimators : dnn dnn_linear_combined estimator kmeans linear model_fn run_config constants
learn.python.learn.estimators : prediction_key
learn.python.learn.learn_io : dask_io graph_io pandas_io numpy_io generator_io : contrib.learn estimator.inputs
learn.python.learn.preprocessing : text : contrib.learn.preprocessing
learn.python.learn.utils : input_fn_utils saved_model_export_utils : contrib.learn.utils contrib.learn
losses.python.losses : loss_ops
losses.python.metric_learning : metric_loss_ops : contrib.losses.metric_learning
memory_stats.python.ops : memory_stats_ops
metrics.python.metrics : classification
metrics.python.ops : confusion_matrix_ops metric_ops set_ops
model_pruning.python : pruning learning strip_pruning_vars_lib
model_pruning.python.layers : layers rnn_cells
nn.python.ops : alpha_dropout cross_entropy scaled_softplus sampling_ops
opt.python.training : adam_gs_optimizer adamax addsign drop_stale_gradient_optimizer external_optimizer lars_optimizer
opt.python.training : lazy_adam_gs_optimizer lazy_adam_optimizer moving_average_optimizer multitask_optimizer_wrapper
opt.python.training : nadam_optimizer powersign reg_adagrad_optimizer sign_decay variable_clipping_optimizer
opt.python.training : weight_decay_optimizers
quantize.python : quantize_graph
resampler.python.ops : resampler_ops
rnn.python.ops : fused_rnn_cell gru_ops lstm_ops
seq2seq.python.ops : attention_wrapper basic_decoder beam_search_decoder beam_search_ops decoder helper loss
signal.python.ops : mel_ops mfcc_ops reconstruction_ops shape_ops spectral_ops window_ops
solvers.python.ops : lanczos : contrib.solvers.lanczos
solvers.python.ops : least_squares : contrib.solvers.least_squares
solvers.python.ops : linear_equations : contrib.solvers.linear_equations
solvers.python.ops : util : contrib.solvers.util
sparsemax.python.ops : sparsemax sparsemax_loss
specs.python : params_ops specs specs_lib specs_ops summaries
stateless.python : stateless_ops
testing.python.framework : fake_summary_writer
tpu.python.ops : tpu_ops
tpu.python.tpu : tpu_config tpu_estimator tpu_optimizer
training.python.training : bucket_ops device_setter evaluation hparam sgdr_learning_rate_decay training
util.python : loader
"""

# packages whose own names programs import from their `python` package: places by package
_PACKAGES: Mapping[str, Sequence[str]] = {
    "cudnn_rnn.python.layers": (),
    "crf.python.ops": (),
    "framework.python.ops": (),
    "gan.python.losses": ("contrib.gan.losses",),
    "layers.python.layers": (),
    "learn.python.learn": (),
    "learn.python.learn.estimators": (),
    "learn.python.learn.preprocessing": ("contrib.learn.preprocessing",),
    "losses.python.losses": (),
    "losses.python.metric_learning": ("contrib.losses.metric_learning",),
    "nn.python.ops": (),
    "seq2seq.python.ops": (),
    "signal.python.ops": (),
    "training.python.training": (),
    "distributions.python.ops.bijectors": ("contrib.distributions.bijectors",),
}


def _views() -> dict[str, Sequence[str]]:
    views: dict[str, Sequence[str]] = {}
    for line in filter(None, map(str.strip, _TABLE.splitlines())):
        package, modules, *rest = (part.strip() for part in line.split(":"))
        own = f"contrib.{package.partition('.')[0]}"
        places = tuple(rest[0].replace("@", "contrib.distributions.bijectors").split()) if rest else (own,)
        views.update({f"contrib.{package}.{module}": places for module in modules.split()})
    for package, found in _PACKAGES.items():
        views[f"contrib.{package}"] = found or (f"contrib.{package.partition('.')[0]}",)
    return views


VIEWS: Mapping[str, Sequence[str]] = _views()
