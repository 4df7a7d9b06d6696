"""Changes of ONNX models: to float32, and to less that fails alike. Needs the package onnx."""
