#include "client/cli/distributed/evaluation_parts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "core/evaluation/evaluation.h"
#include "server/evaluation/manifest.h"
#include "server/services/convert/convert_evaluation.h"

namespace locus::client {
namespace {

using namespace locus::server;  // NOLINT(google-build-using-namespace)

const absl::Time kNow = absl::FromUnixSeconds(1794873599);

v1::EvaluateExtrapolationRequest SmallPattern() {
  v1::EvaluateExtrapolationRequest request;
  request.mutable_pattern()->set_dim(16);
  request.set_train_length(8);
  request.add_eval_lengths(8);
  request.add_eval_lengths(16);
  request.set_seed(18446744073709551615u);
  request.set_seed_count(2);
  return request;
}

class Collector final : public EvaluationSink {
 public:
  void OnProgress(const EvaluationProgress&) override {}
  void OnCell(EvaluationCell cell) override {
    ToProto(std::move(cell), &cells.emplace_back());
  }
  std::vector<v1::EvaluationCell> cells;
};

// The cells and the summary of a complete evaluation.
struct Ran {
  std::vector<v1::EvaluationCell> cells;
  v1::EvaluationSummary summary;
};

// Runs an evaluation as a server does.
Ran RunOnOneServer(const v1::EvaluateExtrapolationRequest& request) {
  const auto plan = ToEvaluationPlan(request);
  EXPECT_TRUE(plan.ok()) << plan.status();
  const auto job =
      EvaluationJob::Create(plan->settings, plan->evaluated_schemes());
  EXPECT_TRUE(job.ok()) << job.status();
  ThreadPool pool(1);
  Collector collector;
  const auto summary = job->Run(
      pool, [] { return absl::OkStatus(); }, collector);
  EXPECT_TRUE(summary.ok()) << summary.status();
  Ran ran{collector.cells, {}};
  ToProto(*summary, &ran.summary);
  ran.summary.set_manifest_json(MakeManifest(*plan, *summary, kNow));
  return ran;
}

// Runs the parts separately, the last one first, and merges the results.
v1::EvaluationSummary RunInParts(
    const v1::EvaluateExtrapolationRequest& request) {
  const auto parts = SplitEvaluation(request);
  EXPECT_TRUE(parts.ok()) << parts.status();
  std::vector<v1::EvaluationCell> cells;
  std::vector<std::string> manifests;
  for (auto part = parts->rbegin(); part != parts->rend(); ++part) {
    Ran ran = RunOnOneServer(part->request);
    EXPECT_EQ(ran.cells.size(), part->cells.size());
    for (size_t n = 0; n < ran.cells.size(); ++n) {
      EXPECT_EQ(ran.cells[n].eval_length(), part->cells[n].eval_length());
      EXPECT_EQ(ran.cells[n].seed(), part->cells[n].seed());
      ran.cells[n].set_scheme_name(part->cells[n].scheme_name());
    }
    cells.insert(cells.begin(), ran.cells.begin(), ran.cells.end());
    manifests.push_back(ran.summary.manifest_json());
  }
  const auto merged = MergeEvaluation(request, cells, manifests, false, kNow);
  EXPECT_TRUE(merged.ok()) << merged.status();
  return *merged;
}

// Expects that parts give the same summary, byte for byte, as one server.
void ExpectSameInParts(const v1::EvaluateExtrapolationRequest& request) {
  const v1::EvaluationSummary whole = RunOnOneServer(request).summary;
  EXPECT_GT(whole.rows_size(), 0);
  EXPECT_EQ(RunInParts(request).SerializeAsString(), whole.SerializeAsString());
}

TEST(EvaluationPartsTest, MergesDefaultSchemes) {
  ExpectSameInParts(SmallPattern());
}

TEST(EvaluationPartsTest, MergesTwoSchemesOfTheSameKind) {
  auto request = SmallPattern();
  request.add_schemes()->mutable_rope();
  request.add_schemes()->mutable_alibi()->set_symmetric(true);
  request.add_schemes()->mutable_rope()->set_base(100);
  ExpectSameInParts(request);
}

v1::EvaluateExtrapolationRequest SmallTrained() {
  auto request = SmallPattern();
  auto* trained = request.mutable_trained();
  trained->mutable_model()->set_dim(16);
  trained->mutable_model()->set_layer_count(1);
  trained->mutable_model()->set_head_count(2);
  trained->mutable_training()->set_step_count(3);
  trained->mutable_training()->set_batch_size(4);
  return request;
}

TEST(EvaluationPartsTest, MergesTrainedEvaluations) {
  auto request = SmallTrained();
  request.mutable_trained()->mutable_copy();
  ExpectSameInParts(request);
}

TEST(EvaluationPartsTest, MergesCurvesAnswersAndVerdicts) {
  auto request = SmallTrained();
  auto* question = request.mutable_trained()->mutable_ordering()->add_ask();
  for (const int64_t value : {3, 1, 2}) question->add_values(value);
  request.add_schemes()->mutable_rope();
  request.add_schemes()->mutable_rope()->set_base(100);
  request.mutable_schemes(1)->set_label("short");
  ExpectSameInParts(request);
}

TEST(EvaluationPartsTest, SplitsRetrofitBySeedsOnly) {
  auto request = SmallTrained();
  request.mutable_trained()->mutable_retrofit();
  const auto parts = SplitEvaluation(request);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(parts->size(), 2u);
  ExpectSameInParts(request);
}

TEST(EvaluationPartsTest, PartsUseTheSchemeNamesOfTheWholeEvaluation) {
  auto request = SmallPattern();
  request.add_schemes()->mutable_rope();
  request.add_schemes()->mutable_rope()->set_base(100);
  const auto parts = SplitEvaluation(request);
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 4u);
  EXPECT_EQ((*parts)[0].cells[0].scheme_name(), "rope base=10000");
  EXPECT_EQ((*parts)[1].cells[0].scheme_name(), "rope base=100");
  EXPECT_EQ((*parts)[1].request.schemes_size(), 1);
  EXPECT_EQ((*parts)[1].request.seed_count(), 1);
  // Seeds wrap around at 2^64.
  EXPECT_EQ((*parts)[3].request.seed(), 0u);
}

TEST(EvaluationPartsTest, ErrorsNameTheSchemeOfTheWholeRequest) {
  auto request = SmallPattern();
  request.add_schemes()->mutable_rope();
  request.add_schemes()->mutable_rope()->set_base(-1);
  EXPECT_NE(SplitEvaluation(request).status().ToString().find("schemes[1]"),
            std::string::npos);
}

TEST(EvaluationPartsTest, MissingCellsGiveAPartialSummary) {
  const auto request = SmallPattern();
  Ran ran = RunOnOneServer(request);
  ran.cells.pop_back();
  const auto merged = MergeEvaluation(
      request, ran.cells, {ran.summary.manifest_json()}, true, kNow);
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_TRUE(merged->partial());
  EXPECT_EQ(merged->winner(), "");
  EXPECT_EQ(merged->reason(), "No winner: the evaluation is partial.");
}

TEST(EvaluationPartsTest, ManifestListsTheVersionsOfTheServers) {
  const auto request = SmallPattern();
  const Ran ran = RunOnOneServer(request);
  const std::string one = R"({"versions": {"locus": "7"}})";
  const std::string other = R"({"versions": {"locus": "8"}})";
  const auto merged =
      MergeEvaluation(request, ran.cells, {one, other, one}, false, kNow);
  ASSERT_TRUE(merged.ok()) << merged.status();
  const auto manifest = nlohmann::json::parse(merged->manifest_json());
  EXPECT_EQ(manifest["versions"]["locus"], "7");
  ASSERT_EQ(manifest["other_versions"].size(), 1u);
  EXPECT_EQ(manifest["other_versions"][0]["locus"], "8");
}

}  // namespace
}  // namespace locus::client
