// Registry of the tasks of trained mode.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/training/task.h"

namespace locus {

// Makes a task by name. `corpus` is the text of the tasks `text` and
// `retrofit`; empty means the built-in corpus. Field paths in errors are
// relative to TrainedMode, such as `text.corpus`.
absl::StatusOr<std::unique_ptr<Task>> MakeTask(absl::string_view name,
                                               std::string corpus);

// Names of all tasks, in the order of TrainedMode.
absl::Span<const absl::string_view> TaskNames();

}  // namespace locus
