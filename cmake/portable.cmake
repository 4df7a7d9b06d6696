# Commands that leave this machine (ONNXC_PORTABLE; the wheel): every library but the C library is inside, and zig links
# them against a glibc that old systems have. Objects are those of a usual build, and libraries Debian's static ones;
# what Debian has only as a shared library stands here under the same target's name, made of its headers.
set(ONNXC_ZIG "" CACHE FILEPATH "zig, of the Python package ziglang")
set(ONNXC_GLIBC 2.28 CACHE STRING "the oldest glibc that the commands run with")
if(NOT EXISTS "${ONNXC_ZIG}")
  message(FATAL_ERROR "ONNXC_PORTABLE needs ONNXC_ZIG, the path of zig")
endif()

set(Protobuf_USE_STATIC_LIBS ON)
set(ZLIB_USE_STATIC_LIBS ON)
find_package(Threads REQUIRED)

add_library(onnxc_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/portable/fmt.cpp ${CMAKE_CURRENT_LIST_DIR}/portable/glibc.c)
target_compile_definitions(onnxc_fmt PUBLIC FMT_SHARED)  # so that objects are those of a usual build
add_library(fmt::fmt ALIAS onnxc_fmt)
add_library(onnxc_fmt_headers INTERFACE)
target_compile_definitions(onnxc_fmt_headers INTERFACE FMT_HEADER_ONLY)
add_library(fmt::fmt-header-only ALIAS onnxc_fmt_headers)

add_library(onnxc_spdlog INTERFACE)
target_compile_definitions(onnxc_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(onnxc_spdlog INTERFACE Threads::Threads onnxc_fmt)
add_library(spdlog::spdlog ALIAS onnxc_spdlog)
add_library(spdlog::spdlog_header_only ALIAS onnxc_spdlog)

# libgcc too: zig's own functions of that kind say that a CPU has no feature.
foreach(library libstdc++.a libgcc.a)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library} OUTPUT_VARIABLE file
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND onnxc_gcc_libraries " ${file}")
endforeach()
set(CMAKE_CXX_LINK_EXECUTABLE
    "${ONNXC_ZIG} c++ -target x86_64-linux-gnu.${ONNXC_GLIBC} -nostdlib++ -O2 -s <OBJECTS> -o <TARGET> <LINK_LIBRARIES> ${onnxc_gcc_libraries} -lunwind"
)
set(CMAKE_CXX_CREATE_SHARED_LIBRARY
    "${ONNXC_ZIG} c++ -target x86_64-linux-gnu.${ONNXC_GLIBC} -shared -nostdlib++ -O2 -s <OBJECTS> -o <TARGET> <LINK_LIBRARIES> ${onnxc_gcc_libraries} -lunwind"
)
