# What every target is compiled with: link locus::options.

add_library(locus_options INTERFACE)
add_library(locus::options ALIAS locus_options)
target_include_directories(locus_options INTERFACE ${PROJECT_SOURCE_DIR})
# Seeded numbers and results are the same on every platform only if nothing is
# fused behind our back; kernels ask for fused operations by name.
target_compile_options(locus_options INTERFACE -ffp-contract=off
                       -Wall -Wextra -Wno-unused-parameter
                       -Wno-missing-field-initializers)
# Absent frame pointers cost sanitizers and profilers their stacks.
target_compile_options(locus_options INTERFACE -fno-omit-frame-pointer)

if(LOCUS_SANITIZE)
  target_compile_options(locus_options INTERFACE
                         -fsanitize=${LOCUS_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(locus_options INTERFACE -fsanitize=${LOCUS_SANITIZE})
endif()

# Without a main function: each target brings its own.
if(LOCUS_FUZZ)
  target_compile_options(locus_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(LOCUS_CCACHE ccache)
if(LOCUS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LOCUS_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${LOCUS_CCACHE})
endif()
