"""The intermediate representation: op definitions, tensors, the append-only builder, the step-side graph.

Paper: white paper section 2, OSDI'16 section 3.1. Nothing here knows devices, sessions or particular ops, except for
`Const`, which every builder needs.
"""
