#include "client/cli/requests/evaluate_request.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/base/status_macros.h"
#include "client/cli/requests/scheme_flags.h"
#include "client/io/file.h"
#include "core/base/suggest.h"

namespace locus::client {
namespace {

// Rows and columns of the attention maps in the report.
constexpr int64_t kMapSize = 64;
constexpr int64_t kMaxCorpusBytes = int64_t{4} << 20;

using google::protobuf::FieldDescriptor;

const google::protobuf::OneofDescriptor* TaskOneof() {
  return v1::TrainedMode::descriptor()->FindOneofByName("task");
}

// Returns a usage error if a training flag is combined with --pattern.
absl::Status CheckPattern(const EvaluationFlags& flags) {
  const std::pair<const char*, bool> misplaced[] = {
      {"--task", !flags.task.empty()},
      {"--layers", flags.layer_count.has_value()},
      {"--feed-forward", flags.feed_forward_dim.has_value()},
      {"--steps", flags.step_count.has_value()},
      {"--batch", flags.batch_size.has_value()},
      {"--learning-rate", flags.learning_rate.has_value()},
      {"--corpus", !flags.corpus.empty()},
      {"--ask", !flags.questions.empty()}};
  for (const auto& [flag, given] : misplaced) {
    if (given) {
      return UsageError(absl::StrCat(
          flag, " cannot be combined with --pattern, which trains nothing"));
    }
  }
  return absl::OkStatus();
}

void AddPattern(const EvaluationFlags& flags, v1::PatternMode* pattern) {
  pattern->set_dim(flags.dim.value_or(0));
  pattern->set_head_count(flags.head_count.value_or(0));
  pattern->set_causal(flags.causal);
  pattern->set_map_size(kMapSize);
}

absl::Status AddCorpus(const std::string& path, v1::TrainedMode* trained) {
  absl::StatusOr<FileReader> reader = FileReader::Open(path);
  if (!reader.ok()) return AsUsage(reader.status(), "--corpus");
  absl::StatusOr<std::string> corpus = reader->Read(kMaxCorpusBytes + 1);
  if (!corpus.ok()) return AsUsage(corpus.status(), "--corpus");
  if (corpus->empty()) {
    return UsageError(absl::StrCat("--corpus: ", path, " is empty"));
  }
  if (static_cast<int64_t>(corpus->size()) > kMaxCorpusBytes) {
    return UsageError(
        absl::StrCat("--corpus: ", path, " is larger than 4 MiB"));
  }
  if (trained->has_retrofit()) {
    trained->mutable_retrofit()->set_corpus(*std::move(corpus));
  } else {
    trained->mutable_text()->set_corpus(*std::move(corpus));
  }
  return absl::OkStatus();
}

absl::Status AddQuestions(const std::vector<std::string>& questions,
                          v1::OrderingTask* task) {
  for (const std::string& question : questions) {
    v1::OrderingSequence* sequence = task->add_ask();
    for (const absl::string_view text : absl::StrSplit(question, ',')) {
      int64_t value = 0;
      if (!absl::SimpleAtoi(text, &value)) {
        return UsageError(absl::StrCat("--ask: \"", question,
                                       "\" is no list of whole numbers such "
                                       "as 3,1,4,2"));
      }
      sequence->add_values(value);
    }
  }
  return absl::OkStatus();
}

// The server would replace a zero by its default.
absl::Status CheckPositive(const EvaluationFlags& flags) {
  const std::pair<const char*, std::optional<int64_t>> numbers[] = {
      {"--train-length", flags.train_length},
      {"--seeds", flags.seed_count},
      {"--dim", flags.dim},
      {"--layers", flags.layer_count},
      {"--heads", flags.head_count},
      {"--feed-forward", flags.feed_forward_dim},
      {"--steps", flags.step_count},
      {"--batch", flags.batch_size}};
  for (const auto& [flag, number] : numbers) {
    if (number.value_or(1) >= 1) continue;
    return UsageError(
        absl::StrCat(flag, ": is ", *number, "; must be at least 1"));
  }
  return absl::OkStatus();
}

absl::Status AddTask(const EvaluationFlags& flags, v1::TrainedMode* trained) {
  const std::string name = flags.task.empty() ? "text" : flags.task;
  const FieldDescriptor* field =
      v1::TrainedMode::descriptor()->FindFieldByName(name);
  if (field == nullptr || field->containing_oneof() != TaskOneof()) {
    return UsageError(
        absl::StrCat("--task: there is no task \"", name, "\"",
                     DidYouMean(name, EvaluationTasks()),
                     " (tasks: ", absl::StrJoin(EvaluationTasks(), ", "), ")"));
  }
  v1::TrainedMode::GetReflection()->MutableMessage(trained, field);
  if (!flags.questions.empty()) {
    if (!trained->has_ordering()) {
      return UsageError(
          absl::StrCat("--ask needs --task ordering, not ", name));
    }
    CLIENT_RETURN_IF_ERROR(
        AddQuestions(flags.questions, trained->mutable_ordering()));
  }
  if (flags.corpus.empty()) return absl::OkStatus();
  if (!trained->has_text() && !trained->has_retrofit()) {
    return UsageError(
        absl::StrCat("--corpus needs --task text or retrofit, not ", name));
  }
  return AddCorpus(flags.corpus, trained);
}

absl::Status AddTrained(const EvaluationFlags& flags,
                        v1::TrainedMode* trained) {
  CLIENT_RETURN_IF_ERROR(AddTask(flags, trained));
  v1::EvaluationModel* model = trained->mutable_model();
  model->set_dim(flags.dim.value_or(0));
  model->set_layer_count(flags.layer_count.value_or(0));
  model->set_head_count(flags.head_count.value_or(0));
  model->set_feed_forward_dim(flags.feed_forward_dim.value_or(0));
  if (flags.causal || flags.bidirectional) model->set_causal(flags.causal);
  v1::EvaluationTraining* training = trained->mutable_training();
  training->set_step_count(flags.step_count.value_or(0));
  training->set_batch_size(flags.batch_size.value_or(0));
  if (flags.learning_rate.has_value()) {
    training->set_learning_rate(*flags.learning_rate);
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string>& EvaluationTasks() {
  static const auto* const tasks = [] {
    auto* names = new std::vector<std::string>;
    for (int i = 0; i < TaskOneof()->field_count(); ++i) {
      names->push_back(TaskOneof()->field(i)->name());
    }
    return names;
  }();
  return *tasks;
}

absl::StatusOr<v1::EvaluateExtrapolationRequest> MakeEvaluationRequest(
    const EvaluationFlags& flags) {
  v1::EvaluateExtrapolationRequest request;
  CLIENT_RETURN_IF_ERROR(CheckPositive(flags));
  CLIENT_ASSIGN_OR_RETURN(const std::vector<v1::Scheme> schemes,
                          ReadSchemes(flags.schemes, flags.hf_configs,
                                      flags.layer_count.value_or(1)));
  for (const v1::Scheme& scheme : schemes) *request.add_schemes() = scheme;
  if (flags.pattern) {
    CLIENT_RETURN_IF_ERROR(CheckPattern(flags));
    AddPattern(flags, request.mutable_pattern());
  } else {
    CLIENT_RETURN_IF_ERROR(AddTrained(flags, request.mutable_trained()));
  }
  request.set_train_length(flags.train_length.value_or(0));
  request.mutable_eval_lengths()->Add(flags.eval_lengths.begin(),
                                      flags.eval_lengths.end());
  request.set_seed(flags.seed.value_or(0));
  request.set_seed_count(flags.seed_count.value_or(0));
  return request;
}

FlagHints EvaluationHints() {
  return {{"schemes", "--scheme"},
          {"train_length", "--train-length"},
          {"eval_lengths", "--eval-lengths"},
          {"seed_count", "--seeds"},
          {"pattern.dim", "--dim"},
          {"pattern.head_count", "--heads"},
          {"pattern.causal", "--causal"},
          {"trained.ordering.ask", "--ask"},
          {"trained.text.corpus", "--corpus"},
          {"trained.retrofit.corpus", "--corpus"},
          {"trained.model.dim", "--dim"},
          {"trained.model.layer_count", "--layers"},
          {"trained.model.head_count", "--heads"},
          {"trained.model.feed_forward_dim", "--feed-forward"},
          {"trained.model.causal", "--causal or --bidirectional"},
          {"trained.training.step_count", "--steps"},
          {"trained.training.batch_size", "--batch"},
          {"trained.training.learning_rate", "--learning-rate"}};
}

}  // namespace locus::client
