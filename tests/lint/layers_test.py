#!/usr/bin/env python3
"""The source tree keeps the include rules of layers.py, and the checker finds violations."""

import os
import tempfile
import unittest

import layers

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def violations_of(files):
    """The violations of a tree made of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        return layers.violations(root)


class TreeTest(unittest.TestCase):
    def test_the_tree_has_no_violations(self):
        self.assertEqual(layers.violations(ROOT), [])

    def test_the_checker_sees_the_tree(self):
        self.assertIn("core/base/tensor.h", list(layers._files(ROOT)))

    def test_every_listed_folder_exists(self):
        for folder in layers.FOLDERS:
            self.assertTrue(os.path.isdir(os.path.join(ROOT, folder)), folder)

    def test_every_folder_has_a_build_file(self):
        self.assertEqual(layers.folders_without_build_file(ROOT), [])


class CheckerTest(unittest.TestCase):
    """The checker itself, on trees with one mistake each."""

    def assert_rejected(self, path, text, complaint):
        self.assertEqual(violations_of({path: text}), [complaint])

    def assert_allowed(self, path, text):
        self.assertEqual(violations_of({path: text}), [])

    def test_core_includes_mathematics_only(self):
        for header in ('<vector>', '<cstdint>', '"absl/status/status.h"', '"Eigen/Core"',
                       '<Eigen/Core>', '"hwy/highway.h"', '"core/base/tensor.h"'):
            self.assert_allowed("core/encoding/b.cc", f"#include {header}\n")
        for header in ("grpcpp/grpcpp.h", "google/protobuf/message.h", "server/server.h",
                       "locus/client/client.h", "prometheus/counter.h", "locus/v1/tensor.pb.h",
                       "nlohmann/json.hpp"):
            self.assert_rejected("core/encoding/b.h", f'#include "{header}"\n',
                                 f"core/encoding/b.h includes {header}")
        for header in ("sys/mman.h", "immintrin.h", "chrono", "unistd.h"):
            self.assert_rejected("core/base/b.cc", f"#include <{header}>\n",
                                 f"core/base/b.cc includes {header}")

    def test_server_does_not_include_the_client(self):
        self.assert_allowed("server/rpc/a.cc", '#include "core/base/tensor.h"\n')
        self.assert_rejected("server/rpc/a.cc", ' #  include "client/io/file.h"\n',
                             "server/rpc/a.cc includes client/io/file.h")
        self.assert_rejected("server/rpc/a.cc", '#include "locus/client/client.h"\n',
                             "server/rpc/a.cc includes locus/client/client.h")

    def test_client_library_includes_the_contract_only(self):
        self.assert_allowed("client/src/a.cc", '#include "locus/v1/tensor.pb.h"\n')
        for header in ("core/base/tensor.h", "server/server.h", "client/cli/support/session.h"):
            self.assert_rejected("client/load/a.cc", f'#include "{header}"\n',
                                 f"client/load/a.cc includes {header}")

    def test_command_line_is_an_application(self):
        for header in ("core/base/tensor.h", "server/server.h", "client/io/file.h"):
            self.assert_allowed("client/cli/support/a.cc", f'#include "{header}"\n')

    def test_folders_include_lower_folders_only(self):
        self.assert_allowed("server/rpc/a.cc", '#include "server/admission/controller.h"\n')
        self.assert_rejected("server/admission/a.cc", '#include "server/rpc/rpc_scope.h"\n',
                             "server/admission/a.cc includes server/rpc/rpc_scope.h"
                             " of a higher folder")
        self.assert_rejected("core/attention/tiled/a.h",
                             '#include "core/attention/split_kv/split_kv.h"\n',
                             "core/attention/tiled/a.h includes"
                             " core/attention/split_kv/split_kv.h of a higher folder")
        self.assert_rejected("client/cli/support/a.cc",
                             '#include "client/cli/commands/command.h"\n',
                             "client/cli/support/a.cc includes client/cli/commands/command.h"
                             " of a higher folder")

    def test_new_folders_have_to_be_listed(self):
        self.assert_rejected("server/drawer/a.cc", "#include <vector>\n",
                             "server/drawer/a.cc: folder server/drawer is not listed in"
                             " tests/lint/layers.py")

    def test_proto_imports_no_other_layer(self):
        self.assert_allowed("proto/locus/v1/a.proto", 'import "locus/v1/b.proto";\n')
        self.assert_rejected("proto/locus/v1/a.proto", 'import "server/b.proto";\n',
                             "proto/locus/v1/a.proto imports server/b.proto")
        self.assert_rejected("proto/helper.h", "",
                             "proto/helper.h: proto holds the contract alone")

    def test_builds_do_not_depend_on_the_machine(self):
        for path in ("CMakeLists.txt", "core/CMakeLists.txt", "cmake/Options.cmake",
                     "CMakePresets.json", "Dockerfile", "run", ".ci/run"):
            for flag in ("-march=native", "-ffast-math"):
                self.assert_rejected(path, f"flags {flag}\n", f"{path} mentions {flag}")

    def test_build_results_do_not_count(self):
        self.assert_allowed("build/release/CMakeLists.txt", "-ffast-math")


if __name__ == "__main__":
    unittest.main()
