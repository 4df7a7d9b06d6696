# What `cmake --install` puts under a prefix: both commands, the C header, what onnxc compiles models with (kernels'
# headers, the runtime), and a CMake package. onnxc finds its parts relative to itself.
install(TARGETS onnxc onnxc-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES runtime/include/onnxc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(TARGETS onnxc_runtime_cpu ARCHIVE DESTINATION lib/onnxc)
install(FILES runtime/include/onnxc.h DESTINATION share/onnxc/include)
install(FILES runtime/cpu/model.h runtime/cpu/step.h runtime/cpu/error_text.h runtime/cpu/array.h
        DESTINATION share/onnxc/include/cpu)
install(FILES runtime/hip/backend.h runtime/hip/program.h DESTINATION share/onnxc/include/hip)
install(DIRECTORY src/codegen/kernels DESTINATION share/onnxc/include/codegen FILES_MATCHING PATTERN "*.h")
install(DIRECTORY src/codegen/cpu/kernels DESTINATION share/onnxc/include/codegen/cpu FILES_MATCHING PATTERN "*.h")
install(DIRECTORY src/codegen/hip/kernels DESTINATION share/onnxc/include/codegen/hip FILES_MATCHING PATTERN "*.h")

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/onnxc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/onnxc-config.cmake ${CMAKE_BINARY_DIR}/onnxc-config-version.cmake DESTINATION lib/cmake/onnxc)
