#include "tests/bench/table.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include <benchmark/benchmark.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/simd/huge_pages.h"
#include "tests/bench/machine.h"
#include "tests/bench/plain_eigen.h"

namespace locus::bench {
namespace {

constexpr char kUsage[] =
    "  --isa=NAME   do not use instruction sets better than NAME\n"
    "  --long       include rows that take about a minute each\n"
    "  --benchmark_min_time=SECONDS   approximate time to measure a row\n"
    "--benchmark_filter, --benchmark_list_tests and --benchmark_out work as "
    "in\n"
    "Google Benchmark.\n";

std::string Format(Column::Format format, double value) {
  switch (format) {
    case Column::Format::kTime:
      if (value < 1e-3) return absl::StrFormat("%.3g us", value * 1e6);
      if (value < 1) return absl::StrFormat("%.3g ms", value * 1e3);
      return absl::StrFormat("%.3g s", value);
    case Column::Format::kPercent:
      return absl::StrFormat("%.0f %%", value * 100);
    case Column::Format::kRatio:
      return absl::StrFormat("%.2f", value);
    case Column::Format::kNumber:
      return absl::StrFormat(value < 10 ? "%.2f" : "%.1f", value);
  }
  return "";
}

// Text of a label in a cell: "2" for "threads:2", "T16 H8" for "T16,H8".
std::string LabelText(absl::string_view label) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(label, absl::MaxSplits(':', 1));
  return absl::StrReplaceAll(parts.second.empty() ? label : parts.second,
                             {{",", " "}});
}

std::vector<std::string> LabelsOf(const std::string& row_name) {
  std::vector<std::string> labels = absl::StrSplit(row_name, '/');
  labels.erase(labels.begin());
  for (std::string& label : labels) label = LabelText(label);
  return labels;
}

// Prints the results as tables.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  explicit Reporter(const Tables& tables) : tables_(tables) {}

  bool ReportContext(const Context& context) override {
    GetOutputStream() << DescribeMachine() << "; plain Eigen for "
                      << EigenInstructionSet() << "\n"
                      << "The contenders of a row are measured in turn. Times "
                         "and speeds are medians over\n"
                         "the rounds; shares and ratios are medians of the "
                         "ratios in each round.\n";
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Iteration) PrintRow(run);
    }
    GetOutputStream().flush();
  }

  bool failed() const { return failed_; }

 private:
  void Begin(const Table& table) {
    table_ = &table;
    label_widths_ = tables_.LabelWidths(table);
    GetOutputStream() << "\n" << table.title << "\n\n";
    for (size_t i = 0; i < table.labels.size(); ++i) {
      label_widths_[i] = std::max(label_widths_[i], table.labels[i].size());
      GetOutputStream() << absl::StrFormat("%-*s", label_widths_[i] + 2,
                                           table.labels[i]);
    }
    for (const Column& column : table.columns) Print(column, column.heading);
    GetOutputStream() << "\n";
  }

  void Print(const Column& column, const std::string& cell) {
    const int width = std::max<int>(8, static_cast<int>(column.heading.size()));
    GetOutputStream() << absl::StrFormat("%*s", width + 2, cell);
  }

  void PrintRow(const Run& run) {
    const std::string& name = run.run_name.function_name;
    const Table* table = tables_.Find(name);
    if (table != table_) Begin(*table);
    const std::vector<std::string> labels = LabelsOf(name);
    for (size_t i = 0; i < labels.size(); ++i) {
      GetOutputStream() << absl::StrFormat("%-*s", label_widths_[i] + 2,
                                           labels[i]);
    }
    if (run.error_occurred) {
      failed_ = true;
      GetOutputStream() << run.error_message << "\n";
      return;
    }
    std::vector<std::string> missed;
    bool has_goal = false;
    for (const Column& column : table->columns) {
      const auto value = run.counters.find(column.counter);
      if (value == run.counters.end()) {
        Print(column, "-");
        continue;
      }
      Print(column, Format(column.format, value->second));
      const auto goal = run.counters.find(column.counter + " goal");
      if (goal == run.counters.end()) continue;
      has_goal = true;
      if (value->second >= goal->second) continue;
      missed.push_back(absl::StrCat(column.heading, " ",
                                    Format(column.format, goal->second)));
    }
    if (!missed.empty()) {
      GetOutputStream() << "  goal missed: " << absl::StrJoin(missed, ", ");
    } else if (has_goal) {
      GetOutputStream() << "  goal met";
    }
    GetOutputStream() << "\n";
  }

  const Tables& tables_;
  const Table* table_ = nullptr;
  std::vector<size_t> label_widths_;
  bool failed_ = false;
};

struct CommandLine {
  Settings settings;
  std::optional<std::string> instruction_set;
  bool help = false;
};

// Parses the flags of RunTables() and removes them from the arguments.
CommandLine ParseFlags(int* argc, char** argv) {
  CommandLine line;
  int kept = 1;
  for (int i = 1; i < *argc; ++i) {
    absl::string_view flag = argv[i];
    if (absl::ConsumePrefix(&flag, "--isa=")) {
      line.instruction_set = std::string(flag);
      continue;
    }
    if (flag == "--long") {
      line.settings.with_long = true;
      continue;
    }
    line.help |= flag == "--help";
    // Google Benchmark rejects invalid values.
    if (absl::ConsumePrefix(&flag, "--benchmark_min_time=")) {
      (void)absl::SimpleAtod(flag, &line.settings.seconds);
    }
    argv[kept++] = argv[i];
  }
  *argc = kept;
  return line;
}

}  // namespace

void Tables::AddRow(const std::vector<std::string>& labels,
                    std::function<absl::StatusOr<Counters>()> measure) {
  const std::string name =
      absl::StrCat(tables_.back().name, "/", absl::StrJoin(labels, "/"));
  row_names_.push_back(name);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [measure = std::move(measure)](benchmark::State& state) {
        for (auto _ : state) {
          const auto counters = measure();
          if (!counters.ok()) {
            state.SkipWithError(
                std::string(counters.status().message()).c_str());
            break;
          }
          for (const auto& [key, value] : *counters) {
            state.counters[key] = value;
            if (key == kSeconds) state.SetIterationTime(value);
          }
        }
      })
      ->Iterations(1)
      ->UseManualTime();
}

const Table* Tables::Find(const std::string& name) const {
  for (const Table& table : tables_) {
    if (name.rfind(table.name + "/", 0) == 0) return &table;
  }
  return nullptr;
}

std::vector<size_t> Tables::LabelWidths(const Table& table) const {
  std::vector<size_t> widths(table.labels.size());
  for (const std::string& name : row_names_) {
    if (Find(name) != &table) continue;
    const std::vector<std::string> labels = LabelsOf(name);
    for (size_t i = 0; i < labels.size(); ++i) {
      widths[i] = std::max(widths[i], labels[i].size());
    }
  }
  return widths;
}

int RunTables(int argc, char** argv,
              const std::function<void(const Settings&, Tables&)>& fill) {
  const CommandLine line = ParseFlags(&argc, argv);
  if (line.help) {
    std::cout << "usage: " << argv[0] << " [FLAGS]\n" << kUsage;
    return 0;
  }
  std::optional<InstructionSetLimit> limit;
  if (line.instruction_set) {
    const std::vector<std::string> known = InstructionSets();
    if (std::count(known.begin(), known.end(), *line.instruction_set) == 0) {
      std::cerr << "--isa: is " << *line.instruction_set << "; must be one of "
                << absl::StrJoin(known, ", ") << "\n";
      return 2;
    }
    limit.emplace(*line.instruction_set);
  }
  // Simulates a server that has been running for a while: results reuse memory
  // instead of freshly mapped pages, and large arrays use huge pages.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  SetHugePageAdvisor(
      [](void* data, size_t bytes) { madvise(data, bytes, MADV_HUGEPAGE); });

  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Tables tables;
  fill(line.settings, tables);
  Reporter reporter(tables);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.failed() ? 1 : 0;
}

}  // namespace locus::bench
