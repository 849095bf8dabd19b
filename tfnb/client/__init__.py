"""What users call and the catalogue is not: variables and scopes, gradients, layers, losses."""
