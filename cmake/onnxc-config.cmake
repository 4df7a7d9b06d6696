# find_package(onnxc) gives
#
#   onnxc::compiler                    the compiler as a library (onnxc_compiler.h); a wheel has none
#   onnxc::runtime                     the C ABI's header, and the loader to open a model.so with
#   onnxc_add_model(NAME MODEL.onnx [OPTIONS --march x86-64-v3 ...])
#                                      a target that compiles MODEL.onnx to NAME.so in the current build folder, and again
#                                      whenever the model changes; its property ONNXC_MODEL is the file's path
get_filename_component(onnxc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET onnxc::runtime)
  add_library(onnxc::runtime INTERFACE IMPORTED)
  set_target_properties(onnxc::runtime PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${onnxc_prefix}/include"
                                                  INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
  if(EXISTS "${onnxc_prefix}/lib/libonnxc_compiler.so")
    add_library(onnxc::compiler SHARED IMPORTED)
    set_target_properties(onnxc::compiler PROPERTIES IMPORTED_LOCATION "${onnxc_prefix}/lib/libonnxc_compiler.so"
                                                     INTERFACE_INCLUDE_DIRECTORIES "${onnxc_prefix}/include")
  endif()
  add_executable(onnxc::onnxc IMPORTED)
  set_target_properties(onnxc::onnxc PROPERTIES IMPORTED_LOCATION "${onnxc_prefix}/bin/onnxc")
endif()

function(onnxc_add_model name model)
  cmake_parse_arguments(PARSE_ARGV 2 argument "" "" "OPTIONS")
  get_filename_component(model "${model}" ABSOLUTE)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${name}.so")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND onnxc::onnxc "${model}" -o "${output}" ${argument_OPTIONS}
    DEPENDS "${model}" onnxc::onnxc
    COMMENT "Compiling ${model}"
    VERBATIM)
  add_custom_target(${name} ALL DEPENDS "${output}")
  set_target_properties(${name} PROPERTIES ONNXC_MODEL "${output}")
endfunction()
