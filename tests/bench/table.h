// Tables of results on top of Google Benchmark, whose filters, listing and
// output files keep working.
//
// A row is a benchmark with the name TABLE/LABEL/LABEL/..., such as
// Scheme/T2048,H8,D64/rope,causal/threads:1. Its first cells are the labels;
// the other cells are counters of the benchmark.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace locus::bench {

// A column that shows a counter.
struct Column {
  enum class Format { kTime, kNumber, kPercent, kRatio };

  std::string heading;
  // Name of the counter. Rows without the counter show a dash. If a row also
  // has a counter with this name followed by " goal", it is the minimum value;
  // the table reports whether the goal was met.
  std::string counter;
  Format format = Format::kNumber;
};

struct Table {
  std::string name;
  std::string title;
  std::vector<std::string> labels;
  std::vector<Column> columns;
};

// Counters of a row by name.
using Counters = std::map<std::string, double>;
// Counter of the seconds per call, which is also the time that Google Benchmark
// reports.
inline constexpr char kSeconds[] = "seconds";

// Settings from the command line.
struct Settings {
  // Approximate time to measure a row.
  double seconds = 0.5;
  // Whether to include rows that take about a minute each.
  bool with_long = false;
};

// The tables of a benchmark program.
class Tables {
 public:
  // Adds a table without rows.
  void Add(Table table) { tables_.push_back(std::move(table)); }
  // Adds a row to the last table. `measure` returns its counters.
  void AddRow(const std::vector<std::string>& labels,
              std::function<absl::StatusOr<Counters>()> measure);

  // The table of a row, by the name of the row; null if there is none.
  const Table* Find(const std::string& name) const;
  // Length of the longest label in each label column of a table.
  std::vector<size_t> LabelWidths(const Table& table) const;

 private:
  std::vector<Table> tables_;
  std::vector<std::string> row_names_;
};

// Main function of a benchmark program: parses the command line, calls `fill`
// to add the tables, runs and prints them row by row, and returns an exit code.
int RunTables(int argc, char** argv,
              const std::function<void(const Settings&, Tables&)>& fill);

}  // namespace locus::bench
