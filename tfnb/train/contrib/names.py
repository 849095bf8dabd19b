"""The public names of `tf.contrib` whose modules are parts of the training library, and load on first use.

Invariant: the names of a module stand in one line for each set of places; see `lazy_names`.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
examples.tutorials.mnist.mnist : tfnb.train.contrib.mnist_tutorial : IMAGE_PIXELS IMAGE_SIZE NUM_CLASSES evaluation
examples.tutorials.mnist.mnist : tfnb.train.contrib.mnist_tutorial : inference loss training
contrib.summary : tfnb.train.contrib.written_summaries : SummaryWriter all_summary_ops always_record_summaries audio
contrib.summary : tfnb.train.contrib.written_summaries : create_file_writer
contrib.summary : tfnb.train.contrib.written_summaries : create_summary_file_writer=create_file_writer
contrib.summary : tfnb.train.contrib.written_summaries : eval_dir flush generic graph histogram image import_event
contrib.summary : tfnb.train.contrib.written_summaries : initialize never_record_summaries
contrib.summary : tfnb.train.contrib.written_summaries : record_summaries_every_n_global_steps scalar
contrib.summary : tfnb.train.contrib.written_summaries : should_record_summaries summary_writer_initializer_op
summary : tfnb.train.contrib.written_summaries : all_v2_summary_ops=all_summary_ops initialize
contrib.testing : tfnb.train.contrib.summary_testing : FakeSummaryWriter assert_summary latest_event_file latest_events
contrib.testing : tfnb.train.contrib.summary_testing : latest_summaries simple_values_from_events to_summary_proto
contrib.model_pruning : tfnb.train.contrib.pruning : Pruning apply_mask get_masked_weights get_masks get_pruning_hparams
contrib.model_pruning : tfnb.train.contrib.pruning : get_thresholds get_weight_sparsity get_weights
contrib.model_pruning : tfnb.train.contrib.pruned_layers : MaskedBasicLSTMCell MaskedLSTMCell graph_def_from_checkpoint
contrib.model_pruning : tfnb.train.contrib.pruned_layers : masked_conv2d=masked_convolution masked_convolution
contrib.model_pruning : tfnb.train.contrib.pruned_layers : masked_fully_connected strip_pruning_vars_fn train
distribute contrib.distribute : tfnb.train.distribute.contexts : ReplicaContext get_loss_reduction get_replica_context
distribute contrib.distribute : tfnb.train.distribute.contexts : get_strategy has_strategy in_cross_replica_context
distribute : tfnb.train.distribute.contexts : experimental_set_strategy
contrib.distribute : tfnb.train.distribute.contexts : get_distribution_strategy=get_strategy require_replica_context
contrib.distribute : tfnb.train.distribute.contexts : has_distribution_strategy=has_strategy
contrib.distribute : tfnb.train.distribute.strategies : get_cross_replica_context
distribute : tfnb.train.distribute.inputs : InputContext InputReplicationMode
distribute contrib.distribute : tfnb.train.distribute.reduction : CrossDeviceOps
distribute : tfnb.train.distribute.reduction : HierarchicalCopyAllReduce ReduceOp ReductionToOneDevice
contrib.distribute : tfnb.train.distribute.reduction : AllReduceCrossDeviceOps
distribute : tfnb.train.distribute.strategies : Strategy StrategyExtended
contrib.distribute : tfnb.train.distribute.strategies : DistributionStrategy=Strategy
distribute : tfnb.train.distribute.mirrored : MirroredStrategy OneDeviceStrategy
distribute.experimental : tfnb.train.distribute.mirrored : CentralStorageStrategy
contrib.distribute : tfnb.train.distribute.mirrored : MirroredStrategy=ContribMirroredStrategy OneDeviceStrategy
contrib.distribute : tfnb.train.distribute.steps : DistributeConfig Monitor StandardInputStep Step UpdateContext
contrib.distribute : tfnb.train.distribute.steps : StandardSingleLossStep
contrib.training : tfnb.train.contrib.train_op : add_gradients_summaries clip_gradient_norms clip_gradient_norms_fn
contrib.training : tfnb.train.contrib.train_op : create_train_op multiply_gradients train
contrib.slim.learning : tfnb.train.contrib.slim_train_op : add_gradients_summaries create_train_op
contrib.slim.learning : tfnb.train.contrib.train_op : clip_gradient_norms multiply_gradients
contrib.slim.learning : tfnb.train.contrib.slim_learning : train train_step
contrib.training : tfnb.train.contrib.evaluation : StopAfterNEvalsHook SummaryAtEndHook checkpoints_iterator
contrib.training : tfnb.train.contrib.evaluation : evaluate_once evaluate_repeatedly get_or_create_eval_step
contrib.training contrib.slim.evaluation : tfnb.train.contrib.evaluation : wait_for_new_checkpoint
train : tfnb.train.contrib.evaluation : checkpoints_iterator
contrib.slim.evaluation : tfnb.train.contrib.evaluation : checkpoints_iterator
contrib.slim.evaluation : tfnb.train.contrib.slim_evaluation : evaluate_once evaluation_loop
contrib.slim.queues : tfnb.train.contrib.slim_data : NestedQueueRunnerError QueueRunners
contrib.slim.prefetch_queue : tfnb.train.contrib.slim_data : prefetch_queue
contrib.slim.parallel_reader : tfnb.train.contrib.slim_data : ParallelReader get_data_files parallel_read
contrib.slim.parallel_reader : tfnb.train.contrib.slim_data : single_pass_read
contrib.slim.dataset : tfnb.train.contrib.slim_data : Dataset
contrib.slim.data_provider : tfnb.train.contrib.slim_data : DataProvider
contrib.slim.dataset_data_provider : tfnb.train.contrib.slim_data : DatasetDataProvider
contrib.framework : tfnb.train.contrib.checkpoints : init_from_checkpoint list_variables load_checkpoint
contrib.framework : tfnb.train.contrib.checkpoints : load_variable
contrib.quantize : tfnb.train.contrib.quantize.graphs : create_eval_graph create_training_graph
contrib.quantize : tfnb.train.contrib.quantize.graphs : experimental_create_eval_graph
contrib.quantize : tfnb.train.contrib.quantize.graphs : experimental_create_training_graph
contrib.opt : tfnb.train.contrib.adam_variants : AdaMaxOptimizer AdamGSOptimizer AdamWOptimizer
contrib.opt : tfnb.train.contrib.adam_variants : DecoupledWeightDecayExtension LazyAdamGSOptimizer LazyAdamOptimizer
contrib.opt : tfnb.train.contrib.adam_variants : MomentumWOptimizer NadamOptimizer extend_with_decoupled_weight_decay
contrib.opt : tfnb.train.contrib.sign_optimizers : AddSignOptimizer LARSOptimizer PowerSignOptimizer
contrib.opt : tfnb.train.contrib.sign_optimizers : RegAdagradOptimizer get_cosine_decay_fn get_linear_decay_fn
contrib.opt : tfnb.train.contrib.sign_optimizers : get_restart_decay_fn
contrib.opt : tfnb.train.contrib.wrapping_optimizers : DropStaleGradientOptimizer MovingAverageOptimizer
contrib.opt : tfnb.train.contrib.wrapping_optimizers : MultitaskOptimizerWrapper VariableClippingOptimizer
contrib.opt : tfnb.train.contrib.wrapping_optimizers : clip_gradients_by_global_norm
contrib.gan.losses : tfnb.train.contrib.gan : least_squares_discriminator_loss least_squares_generator_loss
contrib.gan.losses : tfnb.train.contrib.gan : minimax_discriminator_loss minimax_generator_loss
contrib.gan.losses : tfnb.train.contrib.gan : modified_discriminator_loss modified_generator_loss
contrib.gan.losses : tfnb.train.contrib.gan : wasserstein_discriminator_loss wasserstein_generator_loss
contrib.gan.losses : tfnb.train.contrib.gan : wasserstein_gradient_penalty
contrib.gan.losses.wargs : tfnb.client.contrib.gan_losses : least_squares_discriminator_loss
contrib.gan.losses.wargs : tfnb.client.contrib.gan_losses : least_squares_generator_loss
contrib.gan.losses.wargs : tfnb.client.contrib.gan_losses : minimax_discriminator_loss minimax_generator_loss
contrib.gan.losses.wargs : tfnb.client.contrib.gan_losses : modified_discriminator_loss modified_generator_loss
contrib.gan.losses.wargs : tfnb.client.contrib.gan_losses : wasserstein_discriminator_loss wasserstein_generator_loss
contrib.gan.losses.wargs : tfnb.client.contrib.gan_losses : wasserstein_gradient_penalty
contrib.gan : tfnb.train.contrib.gan : GANLoss GANModel GANTrainOps GANTrainSteps RunTrainOpsHook gan_loss
contrib.gan : tfnb.train.contrib.gan : gan_model gan_train gan_train_ops get_joint_train_hooks
contrib.gan : tfnb.train.contrib.gan : get_sequential_train_hooks get_sequential_train_steps
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
