# Rewrites OUTPUT if the commit has changed. It runs at every build, because a
# commit does not trigger a configuration. COMMIT takes precedence over git.
if(NOT COMMIT)
  execute_process(
    COMMAND git -C ${SOURCE} describe --always --abbrev=12 --dirty --exclude=*
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT COMMIT)
  set(COMMIT unknown)
endif()
set(text "// Written by cmake/WriteBuildInfo.cmake.
#pragma once
#define LOCUS_VERSION \"${VERSION}\"
#define LOCUS_COMMIT \"${COMMIT}\"
#define LOCUS_BUILD \"${BUILD}\"
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()
