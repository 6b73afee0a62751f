#!/usr/bin/env python3
"""The layers include only what they may; see layers.py."""

import os
import tempfile
import unittest

import layers

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def violations_of(files):
    """Those of a tree made of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        return layers.violations(root)


class LayersTest(unittest.TestCase):
    def test_this_tree_keeps_the_rules(self):
        self.assertEqual(layers.violations(ROOT), [])

    def test_this_tree_is_looked_at(self):
        self.assertIn("core/base/tensor.h", list(layers._files(ROOT)))


class CheckerTest(unittest.TestCase):
    """The checker itself, on trees that are wrong in one place."""

    def assert_refused(self, path, text, complaint):
        self.assertEqual(violations_of({path: text}), [complaint])

    def assert_allowed(self, path, text):
        self.assertEqual(violations_of({path: text}), [])

    def test_core_takes_mathematics_alone(self):
        for header in ('<vector>', '<cstdint>', '"absl/status/status.h"', '"Eigen/Core"',
                       '<Eigen/Core>', '"hwy/highway.h"', '"core/base/tensor.h"'):
            self.assert_allowed("core/a/b.cc", f"#include {header}\n")
        for header in ("grpcpp/grpcpp.h", "google/protobuf/message.h", "server/config/options.h",
                       "locus/client/client.h", "prometheus/counter.h", "locus/v1/tensor.pb.h",
                       "nlohmann/json.hpp"):
            self.assert_refused("core/a/b.h", f'#include "{header}"\n',
                                f"core/a/b.h includes {header}")
        for header in ("sys/mman.h", "immintrin.h", "chrono", "unistd.h"):
            self.assert_refused("core/b.cc", f"#include <{header}>\n",
                                f"core/b.cc includes {header}")

    def test_server_leaves_client_alone(self):
        self.assert_allowed("server/a.cc", '#include "core/base/tensor.h"\n')
        self.assert_refused("server/a.cc", ' #  include "locus/client/client.h"\n',
                            "server/a.cc includes locus/client/client.h")

    def test_client_speaks_proto(self):
        self.assert_allowed("client/a.cc", '#include "locus/v1/tensor.pb.h"\n')
        self.assert_refused("client/a.cc", '#include "core/base/tensor.h"\n',
                            "client/a.cc includes core/base/tensor.h")

    def test_only_the_embedded_mode_starts_a_server(self):
        include = '#include "server/server.h"\n'
        self.assert_allowed("client/cli/support/embedded_server.cc", include)
        self.assert_refused("client/cli/main.cc", include,
                            "client/cli/main.cc includes server/server.h")
        self.assert_refused("client/cli/support/embedded_server.cc", '#include "core/base/tensor.h"\n',
                            "client/cli/support/embedded_server.cc includes core/base/tensor.h")

    def test_proto_stands_alone(self):
        self.assert_allowed("proto/locus/v1/a.proto", 'import "locus/v1/b.proto";\n')
        self.assert_refused("proto/locus/v1/a.proto", 'import "server/b.proto";\n',
                            "proto/locus/v1/a.proto imports server/b.proto")
        self.assert_refused("proto/helper.h", "", "proto/helper.h: proto holds the contract alone")

    def test_builds_do_not_depend_on_the_machine(self):
        for path in ("CMakeLists.txt", "core/CMakeLists.txt", "cmake/Options.cmake",
                     "CMakePresets.json", "Dockerfile", "run", ".ci/run"):
            for flag in ("-march=native", "-ffast-math"):
                self.assert_refused(path, f"flags {flag}\n", f"{path} mentions {flag}")

    def test_what_is_built_does_not_count(self):
        self.assert_allowed("build/release/CMakeLists.txt", "-ffast-math")


if __name__ == "__main__":
    unittest.main()
