# Version, commit and compiler of this build: link locus::build_info and include
# "locus_build_info.h". As few files as possible should, because they are
# compiled again after every commit.
set(LOCUS_COMMIT "" CACHE STRING
    "The commit to report if the sources come without git")
set(LOCUS_BUILD_INFO ${PROJECT_BINARY_DIR}/build_info/locus_build_info.h)
string(TOLOWER "${CMAKE_BUILD_TYPE}" build_type)
set(build "${build_type}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_SYSTEM_PROCESSOR}")
add_custom_target(locus_build_info_header
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${LOCUS_BUILD_INFO}
          -DSOURCE=${PROJECT_SOURCE_DIR} "-DCOMMIT=${LOCUS_COMMIT}"
          "-DVERSION=${PROJECT_VERSION}" "-DBUILD=${build}" -P ${CMAKE_CURRENT_LIST_DIR}/WriteBuildInfo.cmake
  BYPRODUCTS ${LOCUS_BUILD_INFO}
  COMMENT "")
add_library(locus_build_info INTERFACE)
add_library(locus::build_info ALIAS locus_build_info)
target_include_directories(locus_build_info INTERFACE
                           ${PROJECT_BINARY_DIR}/build_info)
add_dependencies(locus_build_info locus_build_info_header)
