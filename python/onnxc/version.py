"""The version of onnxc; the commands' and the libraries' too (CMakeLists.txt reads it here)."""

VERSION = "0.1.0"
