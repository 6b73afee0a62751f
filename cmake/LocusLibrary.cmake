# Libraries of the tree. A layer (core, server, client, cli) is one static
# library, assembled from its folders; each folder lists its own sources.

option(LOCUS_UNITY "Compile the sources of a folder in batches" ON)
# Larger batches build faster from scratch, smaller ones after an edit.
set(LOCUS_UNITY_BATCH 8 CACHE STRING "Sources in one batch")

# locus_batch(target): compiles the target's sources in batches (CMake's unity
# build), so that the headers of gRPC, CLI11 and nlohmann-json are parsed once
# per batch. Files that Highway compiles once per instruction set stay apart:
# they include themselves.
function(locus_batch target)
  if(NOT LOCUS_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON
                        UNITY_BUILD_BATCH_SIZE ${LOCUS_UNITY_BATCH})
  # GCC takes a source file that is included by a batch for a header.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    if(source MATCHES "[.]cc$" AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      file(STRINGS ${source} foreach_target REGEX "hwy/foreach_target" LIMIT_COUNT 1)
      if(foreach_target)
        set_source_files_properties(${source} PROPERTIES
                                    SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endif()
  endforeach()
endfunction()

# locus_optimize_for_build_time(target): compiles with -O1. For code that is
# never in a hot loop, such as the handling of flags.
function(locus_optimize_for_build_time target)
  get_target_property(type ${target} TYPE)
  set(scope PRIVATE)
  if(type STREQUAL INTERFACE_LIBRARY)
    set(scope INTERFACE)
  endif()
  target_compile_options(${target} ${scope} $<$<CONFIG:Release>:-O1>)
endfunction()

# locus_layer(name PUBLIC libraries... PRIVATE libraries...)
# The library locus_<name>, also known as locus::<name>. The libraries are
# available to all of its folders; users of the layer see the public ones.
function(locus_layer name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE" ${ARGN})
  add_library(locus_${name} STATIC)
  add_library(locus::${name} ALIAS locus_${name})
  target_link_libraries(locus_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  set_target_properties(locus_${name} PROPERTIES LINKER_LANGUAGE CXX)
  add_library(locus_${name}_libraries INTERFACE)
  target_link_libraries(locus_${name}_libraries
                        INTERFACE ${ARG_PUBLIC} ${ARG_PRIVATE})
endfunction()

# locus_folder(layer [SEPARATE] sources...): adds this folder's sources to a
# layer. Called once per folder. SEPARATE turns batches off where files use the
# same names on purpose, as schemes do.
function(locus_folder layer)
  cmake_parse_arguments(ARG "SEPARATE" "" "" ${ARGN})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" name ${folder})
  add_library(locus_folder_${name} OBJECT ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(locus_folder_${name} PRIVATE locus_${layer}_libraries)
  if(NOT ARG_SEPARATE)
    locus_batch(locus_folder_${name})
  endif()
  target_sources(locus_${layer} PRIVATE $<TARGET_OBJECTS:locus_folder_${name}>)
endfunction()

# locus_library(name SOURCES files... PUBLIC libraries... PRIVATE libraries...)
# A folder that is a library of its own: locus_<name>, or locus::<name>.
function(locus_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(locus_${name} STATIC ${ARG_SOURCES})
  add_library(locus::${name} ALIAS locus_${name})
  target_link_libraries(locus_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  locus_batch(locus_${name})
endfunction()
