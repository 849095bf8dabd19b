"""The public names whose modules load when a program uses one of them, so that `import tfnb` does not pay for them.

Each line is "places : module : names"; see `lazy_names`. Invariant: the names of a module stand in one line for each
set of places.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.namespace import lazy_names

__all__ = ["API"]

_TABLE = """
tf debugging : tfnb.client.logging.late_checks : assert_near assert_proper_iterable assert_rank_in
tf debugging : tfnb.client.logging.late_checks : assert_same_float_dtype assert_scalar
debugging : tfnb.client.logging.late_checks : assert_shapes
distributions contrib.distributions : tfnb.client.distributions.distribution : Distribution
distributions contrib.distributions : tfnb.client.distributions.distribution : FULLY_REPARAMETERIZED
distributions contrib.distributions : tfnb.client.distributions.distribution : NOT_REPARAMETERIZED RegisterKL
distributions contrib.distributions : tfnb.client.distributions.distribution : ReparameterizationType kl_divergence
distributions contrib.distributions : tfnb.client.distributions.continuous : Beta Exponential Gamma Laplace Normal
distributions contrib.distributions : tfnb.client.distributions.continuous : StudentT
distributions contrib.distributions : tfnb.client.distributions.continuous : Uniform
distributions contrib.distributions : tfnb.client.distributions.discrete : Bernoulli Categorical
distributions contrib.distributions : tfnb.client.distributions.vectors : Dirichlet DirichletMultinomial Multinomial
contrib.distributions : tfnb.client.distributions.discrete : OneHotCategorical Poisson
contrib.distributions : tfnb.client.distributions.vectors : MultivariateNormalDiag
contrib.losses contrib.slim.losses : tfnb.client.contrib.losses : absolute_difference compute_weighted_loss
contrib.losses contrib.slim.losses : tfnb.client.contrib.losses : cosine_distance hinge_loss log_loss
contrib.losses contrib.slim.losses : tfnb.client.contrib.losses : mean_pairwise_squared_error mean_squared_error
contrib.losses contrib.slim.losses : tfnb.client.contrib.losses : sigmoid_cross_entropy softmax_cross_entropy
contrib.losses contrib.slim.losses : tfnb.client.contrib.losses : sparse_softmax_cross_entropy
io.gfile : tfnb.client.platform.late_gfile : copy exists glob isdir listdir makedirs mkdir remove
io.gfile : tfnb.client.platform.late_gfile : rename rmtree stat walk
contrib.training : tfnb.client.contrib.hparams : HParams parse_values
"""
API: dict[str, Any] = dict(lazy_names(_TABLE))
