# `cpack -G DEB` in the build folder makes onnxc_VERSION_amd64.deb of what is installed (install.cmake). dpkg-shlibdeps
# (of dpkg-dev) finds the libraries that the commands need.
install(FILES LICENSE DESTINATION share/doc/onnxc RENAME copyright)
install(FILES NOTICE README.md CHANGELOG.md DESTINATION share/doc/onnxc)
set(CPACK_PACKAGE_NAME onnxc)
set(CPACK_PACKAGE_CONTACT "the authors of onnxc")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler from ONNX models to native code")
set(CPACK_PACKAGE_DESCRIPTION
    "onnxc compiles an ONNX model to one shared library, which needs nothing else installed to run. It is made for
networks of 3D convolutions, on x86-64 CPUs and AMD GPUs.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# onnxc-run needs no compiler, onnxc one of these; code for a GPU needs the device libraries too.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "clang-19, lld-19")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "rocm-device-libs, libclc-19, libamdhip64-5")
include(CPack)
