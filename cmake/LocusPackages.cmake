# Debian packages of the server, the client and the Python package, and the wheel:
# ./run package.
include(GNUInstallDirs)
# Packaging builds the packaged programs only, not every test.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(debian ${PROJECT_SOURCE_DIR}/deploy/debian)

# locus_generate_doc(program file destination arguments...): installs the output
# of `program arguments...` as a file. The programs print their own manuals and
# completion scripts, so that these always match the programs.
function(locus_generate_doc program file destination)
  set(output ${PROJECT_BINARY_DIR}/generated_docs/${destination}/${file})
  get_filename_component(folder ${output} DIRECTORY)
  set(filter cat)
  if(file MATCHES "\\.gz$")
    set(filter "gzip -9n")
  endif()
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND sh -c "out=$0 && \"$@\" > $out.tmp && ${filter} < $out.tmp > $out"
            ${output} $<TARGET_FILE:${program}> ${ARGN}
    DEPENDS ${program} VERBATIM)
  set_property(GLOBAL APPEND PROPERTY LOCUS_GENERATED_DOCS ${output})
  install(FILES ${output} DESTINATION ${CMAKE_INSTALL_DATADIR}/${destination}
          COMPONENT ${program})
endfunction()
locus_generate_doc(locusd locusd.8.gz man/man8 --manual)
locus_generate_doc(locusd locusd bash-completion/completions --completion=bash)
locus_generate_doc(locusd _locusd zsh/vendor-completions --completion=zsh)
locus_generate_doc(locusd locusd.fish fish/vendor_completions.d --completion=fish)
locus_generate_doc(locus locus.1.gz man/man1 manual)
locus_generate_doc(locus locus bash-completion/completions completion bash)
locus_generate_doc(locus _locus zsh/vendor-completions completion zsh)
locus_generate_doc(locus locus.fish fish/vendor_completions.d completion fish)
get_property(outputs GLOBAL PROPERTY LOCUS_GENERATED_DOCS)
add_custom_target(locus_generated_docs DEPENDS ${outputs})

foreach(program locusd locus)
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
          COMPONENT ${program})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${program}
          COMPONENT ${program})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/SECURITY.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/locusd COMPONENT locusd)
install(FILES ${debian}/locusd.service DESTINATION lib/systemd/system
        COMPONENT locusd)
install(FILES ${debian}/locusd.default RENAME locusd DESTINATION /etc/default
        COMPONENT locusd)

# The Python package, as a wheel in build/.../python and unpacked for cpack. It is
# not part of the default build, because it needs setuptools.
find_program(LOCUS_PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(LOCUS_PYTHON3 python3)
set(python_folder ${PROJECT_BINARY_DIR}/python)
add_custom_target(locus_python_wheel
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${python_folder}
  COMMAND ${LOCUS_PYTHON3} -B ${PROJECT_SOURCE_DIR}/client/python/build_wheel.py
          ${python_folder} ${python_folder}/unpacked
  VERBATIM)
install(DIRECTORY ${python_folder}/unpacked/ COMPONENT python OPTIONAL
        DESTINATION lib/python3/dist-packages
        PATTERN WHEEL EXCLUDE PATTERN RECORD EXCLUDE PATTERN top_level.txt EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright COMPONENT python
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-locus)
install(FILES ${PROJECT_SOURCE_DIR}/docs/python.md COMPONENT python
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-locus)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/examples COMPONENT python
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-locus
        PATTERN __pycache__ EXCLUDE)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The Locus authors")
set(CPACK_PACKAGE_CONTACT "The Locus authors <locus@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL locusd locus python)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_LOCUSD_PACKAGE_NAME locusd)
set(CPACK_DEBIAN_LOCUSD_DESCRIPTION "Server of positional encodings and attention
 Serves locus.v1 by gRPC: tables, rotations and biases of ten schemes, the
 attention forward pass, and evaluations of how schemes extrapolate.")
set(CPACK_DEBIAN_LOCUSD_PACKAGE_DEPENDS "init-system-helpers")
set(CPACK_DEBIAN_LOCUSD_PACKAGE_SUGGESTS "locus")
set(CPACK_DEBIAN_LOCUSD_PACKAGE_CONTROL_EXTRA
    "${debian}/conffiles;${debian}/postinst;${debian}/prerm;${debian}/postrm")
set(CPACK_DEBIAN_LOCUS_PACKAGE_NAME locus)
set(CPACK_DEBIAN_LOCUS_DESCRIPTION "Command line of positional encodings and attention
 Calls a Locus server, or the one built in: encodes, attends, checks, evaluates,
 plots and load-tests.")
# Charts contain text, and Pango needs a font for it.
set(CPACK_DEBIAN_LOCUS_PACKAGE_DEPENDS "fonts-dejavu-core | fonts-freefont-ttf")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-locus)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "Python client of positional encodings and attention
 Calls a Locus server, or starts one: encodings, attention and evaluations with
 numpy arrays, and checks of attention kernels in tests.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (>= 3.9), python3-grpcio, python3-protobuf, python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "locusd, locus")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
    "${debian}/python/postinst;${debian}/python/prerm")
include(CPack)
