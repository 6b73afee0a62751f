// Tables that people read, with Google Benchmark underneath: its filters, its
// list and its files of results work as ever.
//
// A row is a benchmark whose name is TABLE/LABEL/LABEL/..., such as
// Scheme/T2048,H8,D64/rope,causal/threads:1. The labels are its first cells,
// and its counters the others.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace locus::bench {

struct Column {
  enum class Format { kTime, kNumber, kPercent, kRatio };

  std::string heading;
  // The counter it shows; a row without it has a dash there. If a row has a
  // counter of the same name and " goal" behind, less than that is missing it.
  std::string counter;
  Format format = Format::kNumber;
};

struct Table {
  std::string name;
  std::string title;
  std::vector<std::string> labels;
  std::vector<Column> columns;
};

using Counters = std::map<std::string, double>;
// Seconds of what the row is about; reported as Google Benchmark's time, too.
inline constexpr char kSeconds[] = "seconds";

struct Settings {
  // What a row's measuring should take.
  double seconds = 0.5;
  // Whether to include the rows that take a minute.
  bool with_long = false;
};

class Tables {
 public:
  void Add(Table table) { tables_.push_back(std::move(table)); }
  // Adds a row to the last table.
  void AddRow(const std::vector<std::string>& labels,
              std::function<absl::StatusOr<Counters>()> measure);

  const Table* Find(const std::string& name) const;
  // The length of the longest label of each of the table's label columns.
  std::vector<size_t> LabelWidths(const Table& table) const;

 private:
  std::vector<Table> tables_;
  std::vector<std::string> row_names_;
};

// The main function of a benchmark: reads the command line, lets `fill` add the
// tables, prints them row by row and returns an exit code.
int RunTables(int argc, char** argv,
              const std::function<void(const Settings&, Tables&)>& fill);

}  // namespace locus::bench
