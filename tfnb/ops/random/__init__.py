"""Random numbers, and samplers of candidate classes."""

FAMILIES = (
    "candidate_samplers",
    "functions",
    "gamma_poisson",
    "learned_candidate_samplers",
    "stateless",
    "uniform_normal",
)
