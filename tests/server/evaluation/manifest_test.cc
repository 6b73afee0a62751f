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
            (std::vector<std::string>{
                "experiment", "date", "seeds", "versions", "configuration",
                "results", "verdict", "winner", "reason", "partial",
                "effective_lengths", "spreads", "training_curves"}));
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
    plan.schemes.push_back({.name = "any", .resolved = *std::move(resolved)});
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

TEST(ManifestTest, ContainsVerdictLengthsSpreadsCurvesAndAnswers) {
  EvaluationSummary summary;
  summary.verdict = {.kind = VerdictKind::kNoClearWinner,
                     .text = "No clear winner.",
                     .next_step = "More seeds."};
  summary.effective_lengths.push_back({"rope", "nll", 64, 32, 128, 0.1});
  summary.spreads.push_back(
      {"rope", 128, "nll", 1, 2, 3, 4, 5, std::nullopt, 7});
  summary.spreads.push_back({"rope", 128, "accuracy", 1, 1, 1, 1, 1, 0.5, 8});
  summary.training_curves.push_back({"rope", 7, {10, 20}, {3, 2.5}});
  summary.ordering_answers.push_back({"rope", {3, 1}, 0.25, 0.2, 0.3, 3});
  const Json manifest = Parsed(TrainedPlan(), summary);
  EXPECT_EQ(manifest["verdict"], Json::parse(R"({"winner": "",
      "kind": "no_clear_winner", "text": "No clear winner.",
      "next_step": "More seeds."})"));
  EXPECT_EQ(manifest["reason"], "No clear winner. More seeds.");
  EXPECT_EQ(manifest["effective_lengths"],
            Json::parse(R"([{"scheme": "rope", "metric": "nll", "length": 64,
      "ci_low": 32, "ci_high": 128, "threshold": 0.1}])"));
  EXPECT_EQ(manifest["spreads"][0], Json::parse(R"({"scheme": "rope",
      "eval_length": 128, "metric": "nll", "min": 1.0, "q25": 2.0,
      "median": 3.0, "q75": 4.0, "max": 5.0, "share_above_95": null,
      "worst_seed": 7})"));
  EXPECT_EQ(manifest["spreads"][1]["share_above_95"], 0.5);
  EXPECT_EQ(manifest["training_curves"], Json::parse(R"([{"scheme": "rope",
      "seed": 7, "steps": [10, 20], "losses": [3.0, 2.5]}])"));
  EXPECT_EQ(manifest["ordering_answers"], Json::parse(R"([{"scheme": "rope",
      "values": [3, 1], "probability": 0.25, "ci_low": 0.2, "ci_high": 0.3,
      "count": 3}])"));
}

TEST(ManifestTest, InvalidUtf8DoesNotThrow) {
  EvaluationSummary summary;
  summary.verdict.text = "\xff";
  EXPECT_NO_THROW(MakeManifest(TrainedPlan(), summary, kNow));
}

}  // namespace
}  // namespace locus::server
