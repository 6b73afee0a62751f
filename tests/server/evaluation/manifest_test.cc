#include "server/evaluation/manifest.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "server/base/version.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

using Json = nlohmann::ordered_json;

// 2026-11-16 23:59:59 UTC.
const absl::Time kNow = absl::FromUnixSeconds(1794873599);

EvaluationPlan TrainedPlan() {
  EvaluationPlan plan;
  TrainedSettings trained;
  trained.task = "text";
  trained.corpus = "abc";
  trained.model = {64, 2, 4, 256, true};
  trained.training.step_count = 100;
  trained.training.batch_size = 32;
  trained.training.learning_rate = 2e-3;
  trained.training.warmup_step_count = 10;
  plan.settings.mode = trained;
  plan.settings.train_length = 64;
  plan.settings.eval_lengths = {64, 128};
  plan.settings.seed = 18446744073709551614u;
  plan.settings.seed_count = 3;
  return plan;
}

Json Parsed(const EvaluationPlan& plan, const EvaluationSummary& summary) {
  return Json::parse(MakeManifest(plan, summary, kNow));
}

TEST(ManifestTest, WritesKeysInOrder) {
  const Json manifest = Parsed(TrainedPlan(), {});
  std::vector<std::string> keys;
  for (const auto& item : manifest.items()) keys.push_back(item.key());
  EXPECT_EQ(keys,
            (std::vector<std::string>{"experiment", "date", "seeds", "versions",
                                      "configuration", "results", "winner",
                                      "reason", "partial"}));
  EXPECT_EQ(manifest["experiment"], "text");
  EXPECT_EQ(manifest["date"], "2026-11-16");
  EXPECT_EQ(manifest["versions"]["locus"], std::string(Version()));
}

TEST(ManifestTest, SeedsWrapAround) {
  EXPECT_EQ(Parsed(TrainedPlan(), {})["seeds"],
            Json({18446744073709551614u, 18446744073709551615u, 0}));
}

TEST(ManifestTest, ConfigurationHasTrainingSettings) {
  const Json trained = Parsed(TrainedPlan(), {})["configuration"]["trained"];
  EXPECT_EQ(trained["corpus"]["bytes"], 3);
  // The FNV-1a hash of "abc" according to the tables of its authors.
  EXPECT_EQ(trained["corpus"]["fnv1a"], "e71fa2190541574b");
  EXPECT_EQ(trained["model"]["causal"], true);
  EXPECT_EQ(trained["training"]["learning_rate"], 2e-3);
  EXPECT_EQ(trained["training"]["warmup_step_count"], 10);
  EXPECT_FALSE(trained["training"].contains("clip_norm"));
}

TEST(ManifestTest, ConfigurationHasParametersOfSchemes) {
  v1::Scheme learned, table;
  learned.mutable_learned();
  *table.mutable_learned()->mutable_table() = Zeros({2, 4});
  const TrainingSetting setting{.train_length = 48, .causal = true};
  EvaluationPlan plan = TrainedPlan();
  for (const v1::Scheme* scheme : {&learned, &table}) {
    auto resolved = ResolveScheme(*scheme, &setting, "schemes[0]");
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    plan.schemes.push_back({"any", *std::move(resolved)});
  }
  const Json schemes = Parsed(plan, {})["configuration"]["schemes"];
  EXPECT_EQ(schemes[0]["kind"], "learned");
  EXPECT_EQ(schemes[0]["parameters"]["policy"], "CLAMP");
  EXPECT_EQ(schemes[0]["parameters"]["max_length"], 48);
  EXPECT_FALSE(schemes[0]["parameters"].contains("table"));
  EXPECT_EQ(schemes[1]["parameters"]["table"]["shape"], Json({2, 4}));
  EXPECT_EQ(schemes[1]["parameters"]["table"]["dtype"], "FLOAT32");
}

TEST(ManifestTest, NumbersAreReadBackExactly) {
  EvaluationSummary summary;
  const double odd = 0.1 + 0.2;
  summary.rows.push_back({"rope", 128, "nll", odd, 1e-310, 1e300, 3});
  summary.differences.push_back(
      {"rope", "none", 128, "nll", -odd, 0.0, 1.0 / 3, 3});
  summary.gates.push_back({"rope", "nll", 2.5, 2.0 / 3, true});
  const Json results = Parsed(TrainedPlan(), summary)["results"];
  EXPECT_EQ(results["rows"][0]["mean"].get<double>(), odd);
  EXPECT_EQ(results["rows"][0]["ci_low"].get<double>(), 1e-310);
  EXPECT_EQ(results["rows"][0]["ci_high"].get<double>(), 1e300);
  EXPECT_EQ(results["differences"][0]["baseline_name"], "none");
  EXPECT_EQ(results["gates"][0]["learned_share"].get<double>(), 2.0 / 3);
}

TEST(ManifestTest, WritesNonFiniteNumbersAsStrings) {
  EvaluationSummary summary;
  const double infinity = std::numeric_limits<double>::infinity();
  summary.rows.push_back({"rope", 128, "nll",
                          std::numeric_limits<double>::quiet_NaN(), -infinity,
                          infinity, 3});
  const Json row = Parsed(TrainedPlan(), summary)["results"]["rows"][0];
  EXPECT_EQ(row["mean"], "NaN");
  EXPECT_EQ(row["ci_low"], "-Infinity");
  EXPECT_EQ(row["ci_high"], "Infinity");
}

TEST(ManifestTest, InvalidUtf8DoesNotThrow) {
  EvaluationSummary summary;
  summary.reason = "\xff";
  EXPECT_NO_THROW(MakeManifest(TrainedPlan(), summary, kNow));
}

}  // namespace
}  // namespace locus::server
