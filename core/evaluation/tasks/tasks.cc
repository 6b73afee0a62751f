#include "core/evaluation/tasks/tasks.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/evaluation/tasks/agreement.h"
#include "core/evaluation/tasks/copy.h"
#include "core/evaluation/tasks/ordering.h"
#include "core/evaluation/tasks/recall.h"
#include "core/evaluation/tasks/text.h"

namespace locus {
namespace {

using TaskOr = absl::StatusOr<std::unique_ptr<Task>>;

struct Entry {
  absl::string_view name;
  TaskOr (*make)(std::string corpus);
};

template <std::unique_ptr<Task> (*make)()>
// NOLINTNEXTLINE(performance-unnecessary-value-param): type of Entry::make
TaskOr WithoutCorpus(std::string) {
  return make();
}

// All tasks. A new task needs one line here.
constexpr Entry kEntries[] = {
    {"ordering", WithoutCorpus<MakeOrderingTask>},
    {"agreement", WithoutCorpus<MakeAgreementTask>},
    {"text", MakeTextTask},
    {"copy", WithoutCorpus<MakeCopyTask>},
    {"reverse", WithoutCorpus<MakeReverseTask>},
    {"recall", WithoutCorpus<MakeRecallTask>},
    {"retrofit", MakeRetrofitTask},
};

constexpr auto kNames = [] {
  std::array<absl::string_view, std::size(kEntries)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kEntries[i].name;
  return names;
}();

}  // namespace

absl::Span<const absl::string_view> TaskNames() { return kNames; }

absl::StatusOr<std::unique_ptr<Task>> MakeTask(absl::string_view name,
                                               std::string corpus) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.make(std::move(corpus));
  }
  return InvalidField("task", absl::StrCat("'", name, "'; must be one of ",
                                           absl::StrJoin(kNames, ", ")));
}

}  // namespace locus
