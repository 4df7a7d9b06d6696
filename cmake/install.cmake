# What `cmake --install` puts under a prefix: both commands, onnxruntime's provider, the C header, what onnxc compiles
# models with (kernels' headers, the runtime), and a CMake package. onnxc finds its parts relative to itself.
install(TARGETS onnxc onnxc-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS onnxc_ep LIBRARY DESTINATION lib)
if(NOT ONNXC_PORTABLE)  # Debian's static protobuf is not made for shared libraries
  install(TARGETS onnxc_compiler_shared LIBRARY DESTINATION lib)
  install(FILES src/library/onnxc_compiler.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(FILES runtime/include/onnxc.h runtime/include/onnxc_volume.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(TARGETS onnxc_runtime_cpu ARCHIVE DESTINATION lib/onnxc)
install(FILES runtime/include/onnxc.h runtime/include/onnxc_volume.h DESTINATION share/onnxc/include)
install(FILES runtime/base/entry.h runtime/base/model.h runtime/base/step.h runtime/base/error_text.h runtime/base/array.h
        DESTINATION share/onnxc/include/base)
install(FILES runtime/strings/string_functions.h DESTINATION share/onnxc/include/strings)
install(FILES runtime/gpu/backend.h runtime/gpu/program.h DESTINATION share/onnxc/include/gpu)
install(FILES src/machine/gpu_machine.h src/machine/gpu_row.h src/machine/amd_machines.h src/machine/nvidia_machines.h
              src/machine/vector_unit.h DESTINATION share/onnxc/include/machine)
install(DIRECTORY src/kernels DESTINATION share/onnxc/include FILES_MATCHING PATTERN "*.h" PATTERN "*_instances.cpp")

# A wheel brings the functions of NVIDIA's kernels, which not every distribution has, and says what it is made of (PEP
# 770).
if(SKBUILD_METADATA_DIR)
  find_file(ONNXC_LIBCLC nvptx64--nvidiacl.bc PATHS /usr/lib/clc /usr/share/clc REQUIRED NO_DEFAULT_PATH)
  install(FILES ${ONNXC_LIBCLC} DESTINATION lib/onnxc)
  find_program(ONNXC_PYTHON python3 REQUIRED)
  execute_process(COMMAND ${ONNXC_ZIG} version OUTPUT_VARIABLE zig_version OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(
    COMMAND ${ONNXC_PYTHON} -m tools.bill_of_materials ${CMAKE_BINARY_DIR}/onnxc.spdx.json --version ${PROJECT_VERSION}
            --onnx ${ONNX_VERSION} --zig ${zig_version}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${CMAKE_BINARY_DIR}/onnxc.spdx.json DESTINATION ${SKBUILD_METADATA_DIR}/sboms)
endif()

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/onnxc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/onnxc-config.cmake ${CMAKE_BINARY_DIR}/onnxc-config-version.cmake DESTINATION lib/cmake/onnxc)
