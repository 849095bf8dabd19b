"""Building blocks of neural networks: activations, losses, normalisation, CTC, and 8-bit inference."""

FAMILIES = (
    "activations",
    "batch_norm",
    "batch_norm_grad",
    "bias_dropout_moments",
    "ctc",
    "ctc_decode",
    "fake_quant",
    "gather_tree",
    "losses",
    "lrn",
    "quantize",
    "quantized_arithmetic",
    "quantized_nn",
    "softmax",
    "sufficient_statistics",
    "superseded_forms",
)

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {
    "gru_blocks": "GRUBlockCell GRUBlockCellGrad",
    "quantize_dequantize": "QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizedConcat",
    "lstm_blocks": "LSTMBlockCell LSTMBlockCellGrad BlockLSTM BlockLSTMV2 BlockLSTMGrad BlockLSTMGradV2",
}
