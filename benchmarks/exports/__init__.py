"""Models as PyTorch exports them, compiled and compared with onnxruntime (docs/Exports.md)."""
