#include "server/config/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "server/config/system_resources.h"

namespace locus::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Change = std::function<void(ServerOptions&)>;

// Message of Validate() for the defaults with one change; empty if it is OK.
std::string ErrorAfter(const Change& change) {
  ServerOptions options;
  change(options);
  return std::string(Validate(options).message());
}

TEST(ValidateTest, AcceptsTheDefaults) {
  EXPECT_TRUE(Validate(ServerOptions()).ok());
}

TEST(ValidateTest, AcceptsServersWithoutPorts) {
  EXPECT_EQ(ErrorAfter([](ServerOptions& o) { o.listen = o.http = ""; }), "");
}

TEST(ValidateTest, NamesTheFlagOfAValueOutOfRange) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, Change>> cases = {
      {"--listen: ", [](auto& o) { o.listen = "nowhere"; }},
      {"--http: ", [](auto& o) { o.http = "unix:/x"; }},
      {"--max-connections is -1;", [](auto& o) { o.max_connections = -1; }},
      {"--max-connection-idle-seconds is -1;",
       [](auto& o) { o.max_connection_idle_seconds = -1; }},
      {"--max-connection-age-seconds is nan;",
       [](auto& o) { o.max_connection_age_seconds = kNan; }},
      {"--max-streams is 0;", [](auto& o) { o.max_streams = 0; }},
      {"--max-metadata-bytes is 1023;",
       [](auto& o) { o.max_metadata_bytes = 1023; }},
      {"--threads is 1025;", [](auto& o) { o.threads = 1025; }},
      {"--max-queued-calls is -1;", [](auto& o) { o.max_queued_calls = -1; }},
      {"--max-queue-seconds is nan;",
       [](auto& o) { o.max_queue_seconds = kNan; }},
      {"--max-message-bytes is 2147483648;",
       [](auto& o) { o.max_message_bytes = int64_t{1} << 31; }},
      {"--memory-budget-bytes is 1;",
       [](auto& o) { o.memory_budget_bytes = 1; }},
      {"--max-call-bytes is -1;", [](auto& o) { o.max_call_bytes = -1; }},
      {"--max-call-flops is -1;", [](auto& o) { o.max_call_flops = -1; }},
      {"--max-elements is -1;", [](auto& o) { o.max_elements = -1; }},
      {"--max-length is -1;", [](auto& o) { o.max_length = -1; }},
      {"--max-heads is 0;", [](auto& o) { o.max_heads = 0; }},
      {"--grace-seconds is -1;", [](auto& o) { o.grace_seconds = -1; }},
      {"--max-evaluations is 65;", [](auto& o) { o.max_evaluations = 65; }},
      {"--max-evaluation-flops is 0;",
       [](auto& o) { o.max_evaluation_flops = 0; }},
  };
  for (const auto& [start, change] : cases) {
    EXPECT_THAT(ErrorAfter(change), StartsWith(start));
  }
}

TEST(ValidateTest, StatesTheAllowedRange) {
  EXPECT_EQ(ErrorAfter([](ServerOptions& o) { o.threads = -1; }),
            "--threads is -1; must be from 0 to 1024");
}

TEST(ValidateTest, LimitsConnectionsToTheFileDescriptors) {
  // At most the fixed limit of the option, where there are more descriptors.
  const int max = std::min(MaxConnections(), 1'000'000);
  EXPECT_EQ(ErrorAfter([&](ServerOptions& o) { o.max_connections = max; }), "");
  EXPECT_THAT(
      ErrorAfter([&](ServerOptions& o) { o.max_connections = max + 1; }),
      StartsWith("--max-connections is "));
}

TEST(ValidateTest, RejectsIncompleteTls) {
  EXPECT_EQ(ErrorAfter([](ServerOptions& o) { o.tls_cert = "a"; }),
            "--tls-cert needs --tls-key");
  EXPECT_EQ(ErrorAfter([](ServerOptions& o) { o.tls_key = "a"; }),
            "--tls-key needs --tls-cert");
  EXPECT_EQ(ErrorAfter([](ServerOptions& o) { o.tls_client_ca = "a"; }),
            "--tls-client-ca needs --tls-cert and --tls-key");
  EXPECT_EQ(ErrorAfter([](ServerOptions& o) { o.auth_exempt = "health"; }),
            "--auth-exempt needs --auth-tokens");
}

TEST(ValidateTest, RejectsPlaintextTokensFromOtherMachines) {
  ServerOptions options;
  options.auth_tokens = "tokens";
  EXPECT_TRUE(Validate(options).ok());  // loopback only

  options.listen = "0.0.0.0:50051";
  EXPECT_THAT(std::string(Validate(options).message()),
              AllOf(HasSubstr("--listen"), HasSubstr("in plaintext")));
  options.tls_cert = "cert";
  options.tls_key = "key";
  EXPECT_TRUE(Validate(options).ok());
  options.http = "0.0.0.0:9464";
  EXPECT_TRUE(Validate(options).ok());

  options.tls_cert = options.tls_key = "";
  options.listen = "127.0.0.1:50051";
  EXPECT_THAT(std::string(Validate(options).message()),
              AllOf(HasSubstr("--http"), HasSubstr("in plaintext")));
  options.auth_exempt = "metrics";
  EXPECT_TRUE(Validate(options).ok());
  options.auth_exempt = "";
  options.allow_plaintext_tokens = true;
  EXPECT_TRUE(Validate(options).ok());
}

TEST(WithDefaultsTest, ReplacesEveryZeroThatMeansDefault) {
  const ServerOptions resolved = WithDefaults(ServerOptions());
  EXPECT_EQ(resolved.max_connections, DefaultMaxConnections());
  EXPECT_EQ(resolved.threads, AvailableCpus());
  EXPECT_EQ(resolved.memory_budget_bytes, AvailableMemoryBytes() / 2);
  EXPECT_EQ(resolved.max_call_bytes, resolved.memory_budget_bytes);
  EXPECT_EQ(resolved.max_call_flops, 6e12 * resolved.threads);
  EXPECT_EQ(resolved.max_elements, resolved.max_call_bytes / 4);
  EXPECT_EQ(resolved.max_length, resolved.max_elements);
  // 0 is a value of its own here.
  EXPECT_EQ(resolved.max_connection_age_seconds, 0);
}

TEST(WithDefaultsTest, KeepsValuesThatAreSet) {
  ServerOptions options;
  options.max_connections = 1;
  options.threads = 3;
  options.memory_budget_bytes = 4000;
  options.max_call_bytes = 2000;
  options.max_call_flops = 5;
  options.max_elements = 6;
  options.max_length = 7;
  const ServerOptions resolved = WithDefaults(options);
  EXPECT_EQ(resolved.max_connections, 1);
  EXPECT_EQ(resolved.threads, 3);
  EXPECT_EQ(resolved.memory_budget_bytes, 4000);
  EXPECT_EQ(resolved.max_call_bytes, 2000);
  EXPECT_EQ(resolved.max_call_flops, 5);
  EXPECT_EQ(resolved.max_elements, 6);
  EXPECT_EQ(resolved.max_length, 7);
}

}  // namespace
}  // namespace locus::server
