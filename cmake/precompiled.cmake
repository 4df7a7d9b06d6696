# Precompiled headers. Half of a unit's compile time is the standard library's headers, fmt's and the IR's; parsed once
# for all units of the same options, they cost nothing further.
#
# They may hide a missing #include: tests/support/test_includes.py compiles each unit without them.

set(ONNXC_STANDARD_HEADERS
    <algorithm> <cmath> <cstdint> <filesystem> <fmt/format.h> <fmt/ranges.h> <functional> <map> <memory> <optional> <set>
    <span> <string> <unordered_map> <variant> <vector>)
# In most units of the compiler and of what is built on it.
set(ONNXC_IR_HEADERS ${CMAKE_SOURCE_DIR}/src/ir/graph.h ${CMAKE_SOURCE_DIR}/src/ir/program/program.h)
set(ONNXC_TEST_HEADERS <gmock/gmock.h> <gtest/gtest.h>)

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # CMake names the header beside the result too, by a path that ccache does not make relative: no second checkout would
  # hit.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
endif()

# onnxc_precompile(TARGET HEADER...): the target's units begin with these headers; others may use the result with
# target_precompile_headers(OTHER REUSE_FROM TARGET) if their options are the same and they need the whole target anyway.
#
# Clang writes paths of the build folder into the result, so that ccache, which hashes it, would hit in no other checkout.
# Its sum (CCACHE_PCH_EXTSUM in scripts/environment.sh) is that of the headers' text instead.
function(onnxc_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  # No times of headers within: what the compiler cache gives back is as good.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir)
  add_custom_command(
    OUTPUT ${folder}/cmake_pch.hxx.pch.sum
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -w -E -P -x c++ "-I$<JOIN:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,;-I>"
            -MD -MF ${folder}/sum.d -MT ${folder}/cmake_pch.hxx.pch.sum -o ${folder}/sum.i ${folder}/cmake_pch.hxx
    COMMAND sha256sum < ${folder}/sum.i > ${folder}/cmake_pch.hxx.pch.sum
    DEPENDS ${folder}/cmake_pch.hxx
    DEPFILE ${folder}/sum.d
    COMMENT "Summing the precompiled headers of ${target}"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${target}_headers_sum DEPENDS ${folder}/cmake_pch.hxx.pch.sum)
  add_dependencies(${target} ${target}_headers_sum)
endfunction()
