"""Variables, their scopes, parts, initialisers and regularisers, and embedding lookups."""
