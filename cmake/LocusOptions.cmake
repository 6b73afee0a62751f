# Compile options of every target: link locus::options.

option(LOCUS_WERROR "Treat warnings as errors" OFF)

add_library(locus_options INTERFACE)
add_library(locus::options ALIAS locus_options)
target_include_directories(locus_options INTERFACE ${PROJECT_SOURCE_DIR})
# Results are the same on every platform only if the compiler fuses no
# operations by itself; kernels use fused operations explicitly.
target_compile_options(locus_options INTERFACE -ffp-contract=off)
# Virtual functions with a default implementation name parameters that they do
# not use, and designated initialisers leave out fields that have defaults.
target_compile_options(locus_options INTERFACE -Wall -Wextra -Wshadow
                       -Wno-unused-parameter -Wno-missing-field-initializers
                       $<$<BOOL:${LOCUS_WERROR}>:-Werror>)
# GCC 12 takes the buffers of short strings for uninitialised memory.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(locus_options
                         INTERFACE -Wno-error=maybe-uninitialized)
endif()
# Sanitizers and profilers need frame pointers for their stack traces.
target_compile_options(locus_options INTERFACE -fno-omit-frame-pointer)

if(LOCUS_SANITIZE)
  target_compile_options(locus_options INTERFACE
                         -fsanitize=${LOCUS_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(locus_options INTERFACE -fsanitize=${LOCUS_SANITIZE})
endif()

# Debian's abseil is not instrumented, so its mutexes must be made visible to
# the thread sanitizer.
if(LOCUS_SANITIZE STREQUAL thread)
  find_path(LOCUS_ABSL_INCLUDE absl/base/options.h REQUIRED)
  file(STRINGS ${LOCUS_ABSL_INCLUDE}/absl/base/options.h absl_namespace
       REGEX "^#define ABSL_OPTION_INLINE_NAMESPACE_NAME ")
  string(REGEX REPLACE ".* " "" absl_namespace "${absl_namespace}")
  string(LENGTH "${absl_namespace}" absl_namespace_length)
  string(PREPEND absl_namespace ${absl_namespace_length})
  add_library(locus_tsan_absl_mutex STATIC
              ${CMAKE_CURRENT_LIST_DIR}/tsan_absl_mutex.cc)
  target_compile_definitions(locus_tsan_absl_mutex
                             PRIVATE LOCUS_ABSL_NAMESPACE=${absl_namespace})
  target_link_libraries(locus_tsan_absl_mutex PRIVATE absl::synchronization)
  target_link_libraries(locus_options INTERFACE locus_tsan_absl_mutex)
  # Every name that the file declares as LOCUS_REAL(prefix, suffix).
  file(READ ${CMAKE_CURRENT_LIST_DIR}/tsan_absl_mutex.cc wrapped)
  string(REGEX MATCHALL "LOCUS_REAL\\([ \n]*ZN[^)]*\\)" wrapped "${wrapped}")
  list(REMOVE_DUPLICATES wrapped)
  foreach(name ${wrapped})
    string(REGEX REPLACE "LOCUS_REAL\\([ \n]*([^,]*),[ \n]*([^)]*)\\)"
           "_\\1${absl_namespace}\\2" name "${name}")
    target_link_options(locus_tsan_absl_mutex INTERFACE LINKER:--wrap=${name}
                        LINKER:--undefined=__wrap_${name})
  endforeach()
endif()

# libFuzzer's main function is linked by the fuzz targets themselves.
if(LOCUS_FUZZ)
  target_compile_options(locus_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(LOCUS_CCACHE ccache)
if(LOCUS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LOCUS_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${LOCUS_CCACHE})
endif()
