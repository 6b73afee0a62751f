// Benchmarks of encodings: the tables of every scheme, and every scheme applied
// to a tensor, as shares of memory bandwidth.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/encoding/encode.h"
#include "core/encoding/registry.h"
#include "tests/bench/machine.h"
#include "tests/bench/plain_eigen.h"
#include "tests/bench/side_by_side.h"
#include "tests/bench/table.h"

namespace locus::bench {
namespace {

using Format = Column::Format;

constexpr double kGiga = 1e9;

struct EncodingCase {
  const SchemeInfo* info;
  // Sizes of the table, [T, dim] or [heads, T, T], or of the input,
  // [heads, T, dim], [heads, T, T] or, without heads, [T, dim].
  int64_t length = 0;
  int64_t dim = 0;
  int64_t head_count = 0;
  bool applied = false;
  int threads = 1;
  // Goal for the share of the memory bandwidth, or 0 if there is none.
  double goal = 0;

  std::vector<std::string> Labels() const {
    std::string sizes = absl::StrCat("T", length);
    if (head_count > 0) absl::StrAppend(&sizes, ",H", head_count);
    if (dim > 0) absl::StrAppend(&sizes, ",D", dim);
    return {sizes, std::string(info->name), absl::StrCat("threads:", threads)};
  }
};

Tensor RandomTensor(const Shape& shape) {
  Tensor tensor(DType::kFloat32, shape);
  RandomStream(1, "tensor")
      .FillNormal(1, absl::MakeSpan(reinterpret_cast<float*>(tensor.at(0)),
                                    tensor.element_count()));
  return tensor;
}

Tensor RandomInput(const EncodingCase& c) {
  Shape shape = {c.length, c.info->site == Site::kScores ? c.length : c.dim};
  if (c.head_count > 0) shape.insert(shape.begin(), c.head_count);
  return RandomTensor(shape);
}

// The same computation in plain Eigen; null if there is no implementation.
std::function<void()> PlainEigen(const EncodingCase& c, const Tensor& input,
                                 Tensor& output, ThreadPool& pool) {
  float* const to = reinterpret_cast<float*>(output.at(0));
  if (c.info->name == "sinusoidal" && !c.applied) {
    return [=, &pool] { EigenSinusoidal(c.length, c.dim, to, pool); };
  }
  if (c.info->name == "rope" && c.applied) {
    const EigenRotation rotation{
        .input = reinterpret_cast<const float*>(input.view().data),
        .output = to,
        .head_count = c.head_count,
        .length = c.length,
        .dim = c.dim};
    return [rotation, &pool] { EigenRotate(rotation, pool); };
  }
  return nullptr;
}

absl::StatusOr<Counters> Measure(const EncodingCase& c, double seconds) {
  ThreadPool pool(c.threads);
  Tensor table;
  Arguments arguments;
  if (c.info->name == "learned") {
    // The table is passed in, as in a model, so that drawing is not measured.
    table = RandomTensor({c.length, c.dim});
    arguments.Set("table", table.view());
  }
  LOCUS_ASSIGN_OR_RETURN(const auto scheme,
                         MakeScheme(*c.info, std::move(arguments)));
  Tensor input;
  EncodeOptions options;
  options.positions = *Positions::Range(0, c.length);
  options.dim = c.dim;
  options.head_count = c.head_count;
  double bytes = 0;
  if (c.applied) {
    input = RandomInput(c);
    options.input = input.view();
    bytes = static_cast<double>(input.element_count() * SizeOf(input.dtype()));
  }
  LOCUS_ASSIGN_OR_RETURN(const auto job,
                         EncodeJob::Create(*scheme, std::move(options)));
  bytes += static_cast<double>(job.output_bytes());
  // The result is reused, because the other contenders reuse their memory, too.
  Encoding encoding;
  const Contender ours{[&] {
                         absl::Status status =
                             job.RunAgain(pool, nullptr, encoding);
                         benchmark::DoNotOptimize(status);
                       },
                       bytes};
  const auto limit_bytes = static_cast<int64_t>(bytes);
  std::vector<Contender> contenders = {
      ours, c.applied ? MemoryCopy(pool, limit_bytes / 2)
                      : StreamingWrite(pool, limit_bytes)};
  Tensor eigen_output(DType::kFloat32, {c.head_count + 1, c.length, c.dim});
  if (auto eigen = PlainEigen(c, input, eigen_output, pool)) {
    contenders.push_back({std::move(eigen), bytes});
  }
  const SideBySide measured(contenders, seconds);
  Counters counters = {{kSeconds, measured.Seconds(0)},
                       {"GB/s", measured.Rate(0) / kGiga},
                       {"limit GB/s", measured.Rate(1) / kGiga},
                       {"of limit", measured.Ratio(0, 1)}};
  if (c.goal > 0) counters["of limit goal"] = c.goal;
  if (contenders.size() > 2) {
    counters["x Eigen"] = measured.Ratio(0, 2);
    counters["x Eigen goal"] = 1;
  }
  return counters;
}

struct TableHeading {
  std::string name;
  std::string title;
  std::string limit;  // the memory access that results are compared with
};

void AddTable(const TableHeading& heading,
              const std::vector<EncodingCase>& cases, double seconds,
              Tables& tables) {
  tables.Add({heading.name,
              heading.title,
              {"shape", "scheme", "threads"},
              {{"time", kSeconds, Format::kTime},
               {"GB/s", "GB/s"},
               {heading.limit, "limit GB/s"},
               {"of " + heading.limit, "of limit", Format::kPercent},
               {"x Eigen", "x Eigen", Format::kRatio}}});
  for (const EncodingCase& c : cases) {
    tables.AddRow(c.Labels(), [c, seconds] { return Measure(c, seconds); });
  }
}

void AddAll(const Settings& settings, Tables& tables) {
  std::vector<EncodingCase> numbers;
  std::vector<EncodingCase> applied;
  for (const SchemeInfo& info : AllSchemes()) {
    if (info.site == Site::kNone) continue;
    const bool on_scores = info.site == Site::kScores;
    const bool on_heads = info.site == Site::kQueriesAndKeys;
    EncodingCase small{.info = &info, .length = 512};
    EncodingCase large{.info = &info, .length = on_scores ? 2048 : 32768};
    EncodingCase input{.info = &info, .length = large.length, .applied = true};
    if (on_scores) {
      small.head_count = large.head_count = input.head_count = 8;
    } else {
      small.dim = 64;
      large.dim = input.dim = 1024;
    }
    if (on_heads) {
      input.length = 4096;
      input.head_count = 32;
      input.dim = 128;
      input.goal = 0.8;
    }
    if (info.name == "sinusoidal") large.goal = 0.65;
    numbers.push_back(small);
    numbers.push_back(large);
    applied.push_back(input);
    large.threads = input.threads = 2;
    numbers.push_back(large);
    applied.push_back(input);
  }
  AddTable(
      {"Numbers", "Tables of schemes, relative to streaming writes", "writing"},
      numbers, settings.seconds, tables);
  AddTable({"Apply",
            "Schemes applied to a tensor, tables included, relative to a copy",
            "copying"},
           applied, settings.seconds, tables);
}

}  // namespace
}  // namespace locus::bench

int main(int argc, char** argv) {
  return locus::bench::RunTables(argc, argv, locus::bench::AddAll);
}
