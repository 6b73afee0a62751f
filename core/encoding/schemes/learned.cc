// Learned position table.
//
//   code(p) = E[p],  E of shape [L, d]
//
// Gehring et al., 2017, "Convolutional Sequence to Sequence Learning"; later
// used by BERT and GPT-2. The rows of a seeded table are drawn from N(0, 0.02),
// each from a stream of its own, so that row p does not depend on L. The table
// has no rows for positions p >= L; `policy` selects the code of such
// positions:
//
//   error        the call is rejected
//   clamp        E[L - 1]
//   wrap         E[p mod L]
//   zero         0
//   random       a row drawn from a stream of position p
//   interpolate  if T = largest position + 1 exceeds L, all positions read the
//                table at (p + 1/2) L / T - 1/2, with linear interpolation
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/base/tensor.h"
#include "core/encoding/scheme.h"
#include "core/simd/streaming_stores.h"

namespace locus {
namespace {

constexpr double kDeviation = 0.02;
// Max elements of a table that is trained.
constexpr int64_t kMaxTrained = int64_t{1} << 19;

// The rows of the table: given, trained, or drawn from a seed when they are
// read, so that a seeded table of any length takes no memory.
struct Table {
  int64_t length = 0;
  int64_t dim = 0;  // 0: rows are drawn, with any width
  uint64_t seed = 0;
  Tensor given;                 // [length, dim], in its original type
  std::vector<double> trained;  // [length, dim]

  void Row(int64_t p, absl::Span<double> row) const {
    if (dim == 0) return Draw("learned.table/", p, row);
    if (!trained.empty()) {
      std::copy_n(trained.begin() + p * dim, dim, row.begin());
    } else {
      ReadRow(given.dtype(), given.view().at(p * dim), dim, row.data());
    }
  }

  // The given rows, if they are of type T; otherwise null.
  template <typename T>
  const T* As() const {
    constexpr DType kType =
        std::is_same_v<T, float> ? DType::kFloat32 : DType::kFloat64;
    if (given.view().data == nullptr || given.dtype() != kType) return nullptr;
    return reinterpret_cast<const T*>(given.view().data);
  }

  void Draw(absl::string_view purpose, int64_t p,
            absl::Span<double> row) const {
    RandomStream(seed, absl::StrCat(purpose, p)).FillNormal(kDeviation, row);
  }
};

class LearnedCode final : public AdditiveCode {
 public:
  // `trainable` is used instead of `table` if it is not null.
  LearnedCode(std::shared_ptr<const Table> table,
              std::shared_ptr<Table> trainable, std::string policy,
              int64_t max_position)
      : trainable_(std::move(trainable)),
        table_(trainable_ == nullptr ? std::move(table) : trainable_),
        policy_(std::move(policy)),
        stretched_(policy_ == "INTERPOLATE" && max_position >= table_->length),
        max_position_(max_position) {}

  void Row(int64_t position, absl::Span<double> row) const override {
    const Source source = SourceOf(position);
    if (source.row < 0) {
      if (policy_ == "RANDOM") {
        return table_->Draw("learned.random/", position, row);
      }
      return std::fill(row.begin(), row.end(), 0.0);  // ZERO
    }
    table_->Row(source.row, row);
    if (source.next_share == 0) return;
    std::vector<double> next(row.size());
    table_->Row(source.row + 1, absl::MakeSpan(next));
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] = (1 - source.next_share) * row[c] + source.next_share * next[c];
    }
  }

  void Rows(const Positions& positions, int64_t first, int64_t count,
            absl::Span<double> rows, StorePolicy store_policy) const override {
    if (CopyRows(positions, first, count, rows.data(), store_policy)) return;
    AdditiveCode::Rows(positions, first, count, rows, store_policy);
  }
  void Rows(const Positions& positions, int64_t first, int64_t count,
            absl::Span<float> rows, StorePolicy store_policy) const override {
    if (CopyRows(positions, first, count, rows.data(), store_policy)) return;
    AdditiveCode::Rows(positions, first, count, rows, store_policy);
  }

  int64_t table_length() const override { return table_->length; }
  absl::string_view policy() const override { return policy_; }

  absl::Span<double> parameters() override {
    return trainable_ == nullptr ? absl::Span<double>()
                                 : absl::MakeSpan(trainable_->trained);
  }

  void Backward(int64_t position, absl::Span<const double> d_row,
                absl::Span<double> d_rows) const override {
    const Source source = SourceOf(position);
    if (source.row < 0) return;
    const auto add = [&](int64_t p, double share) {
      double* const target = d_rows.data() + p * table_->dim;
      for (size_t c = 0; c < d_row.size(); ++c) target[c] += share * d_row[c];
    };
    add(source.row, 1 - source.next_share);
    if (source.next_share > 0) add(source.row + 1, source.next_share);
  }

 private:
  // The rows that a position reads: (1 - next_share) row + next_share (row +
  // 1). A row of -1 means none.
  struct Source {
    int64_t row;
    double next_share = 0;
  };

  // Copies the rows directly if the table stores type T and every position
  // reads exactly one row. Returns false if not; `rows` may then be partly
  // written. Consecutive rows are copied together.
  template <typename T>
  bool CopyRows(const Positions& positions, int64_t first, int64_t count,
                T* rows, StorePolicy store_policy) const {
    const T* const table = table_->As<T>();
    if (table == nullptr) return false;
    const int64_t dim = table_->dim;
    int64_t begin = 0;      // first of the consecutive rows in the result
    int64_t begin_row = 0;  // the same row in the table
    const auto copy = [&](int64_t end) {
      Copy(table + begin_row * dim, (end - begin) * dim * sizeof(T),
           rows + begin * dim, store_policy);
    };
    for (int64_t i = 0; i < count; ++i) {
      const Source source = SourceOf(positions[first + i]);
      if (source.row < 0 || source.next_share != 0) return false;
      if (source.row == begin_row + (i - begin)) continue;
      copy(i);
      begin = i;
      begin_row = source.row;
    }
    copy(count);
    return true;
  }

  Source SourceOf(int64_t position) const {
    const int64_t length = table_->length;
    if (stretched_) return Stretched(position);
    if (position < length) return {position};
    if (policy_ == "CLAMP") return {length - 1};
    if (policy_ == "WRAP") return {position % length};
    return {-1};
  }

  Source Stretched(int64_t position) const {
    const double length = static_cast<double>(table_->length);
    const double stretched_length = static_cast<double>(max_position_) + 1;
    const double source = std::clamp(
        (static_cast<double>(position) + 0.5) * length / stretched_length - 0.5,
        0.0, length - 1);
    const int64_t below = static_cast<int64_t>(source);
    return {below, source - static_cast<double>(below)};
  }

  const std::shared_ptr<Table> trainable_;  // the table, or null
  const std::shared_ptr<const Table> table_;
  const std::string policy_;
  const bool stretched_;
  const int64_t max_position_;
};

class Learned final : public SchemeFormula {
 public:
  Learned(Table table, std::string policy)
      : table_(std::make_shared<const Table>(std::move(table))),
        policy_(std::move(policy)) {}

  int64_t dim() const override { return table_->dim; }
  int64_t table_length() const override { return table_->length; }
  Promises PropertiesWith(const Promises& promises) const override {
    Promises amended = promises;
    // A table of one row is the same however far it is stretched.
    if (policy_ == "INTERPOLATE" && table_->length > 1) {
      amended[static_cast<int>(Property::kLengthIndependence)].answer =
          Promise::Answer::kNo;
    }
    if (policy_ == "RANDOM") {
      amended[static_cast<int>(Property::kOpenEndedness)].answer =
          Promise::Answer::kYes;
    }
    return amended;
  }

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    if (table_->dim != 0 && table_->dim != geometry.dim) {
      return InvalidField(
          "table.shape",
          absl::StrCat("is [", table_->length, ", ", table_->dim,
                       "]; the call needs a width of ", geometry.dim));
    }
    if (policy_ == "ERROR" && geometry.max_position >= table_->length) {
      return InvalidField(
          "policy",
          absl::StrCat("is ERROR and position ", geometry.max_position,
                       " is past the table's ", table_->length,
                       " rows; shorten the call, lengthen the table, or choose "
                       "CLAMP, WRAP, ZERO, RANDOM or INTERPOLATE"));
    }
    if (geometry.trainable && table_->length > kMaxTrained / geometry.dim) {
      return LimitExceeded(
          "max_length", "max_trained_table",
          absl::StrCat("is ", table_->length, " for a width of ", geometry.dim,
                       "; a table of at most ", kMaxTrained,
                       " numbers is trained"));
    }
    return std::make_unique<LearnedCode>(
        table_, geometry.trainable ? TrainableTable(geometry.dim) : nullptr,
        policy_, geometry.max_position);
  }

 private:
  // A copy of the table for training. Seeded tables are drawn.
  std::shared_ptr<Table> TrainableTable(int64_t dim) const {
    auto trained = std::make_shared<Table>();
    trained->length = table_->length;
    trained->dim = dim;
    trained->seed = table_->seed;
    trained->trained.resize(trained->length * dim);
    for (int64_t p = 0; p < trained->length; ++p) {
      table_->Row(p, absl::MakeSpan(trained->trained).subspan(p * dim, dim));
    }
    return trained;
  }

  const std::shared_ptr<const Table> table_;
  const std::string policy_;
};

absl::StatusOr<Table> GivenTable(const Arguments& arguments) {
  const TensorView& given = arguments.Tensor("table");
  if (given.rank() != 2 || given.extent(0) < 1 || given.extent(1) < 1) {
    return InvalidField("table.shape",
                        absl::StrCat("is ", ToString(given.shape),
                                     "; must be [length, dim], neither empty"));
  }
  if (arguments.Has("max_length") &&
      arguments.Integer("max_length") != given.extent(0)) {
    return InvalidField(
        "max_length",
        absl::StrCat("is ", arguments.Integer("max_length"), "; the table has ",
                     given.extent(0), " rows"));
  }
  Table table;
  table.length = given.extent(0);
  table.dim = given.extent(1);
  table.given = Tensor(given.dtype, given.shape);
  const int64_t bytes = table.given.byte_count();
  Copy(given.data, bytes, table.given.at(0), StorePolicyFor(bytes));
  return table;
}

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(
    const Arguments& arguments) {
  Table table;
  if (arguments.Has("table")) {
    LOCUS_ASSIGN_OR_RETURN(table, GivenTable(arguments));
  } else {
    constexpr int64_t kDefaultLength = 512;
    table.length = arguments.Has("max_length") ? arguments.Integer("max_length")
                                               : kDefaultLength;
    table.seed = arguments.Seed("seed");
  }
  return std::make_unique<Learned>(std::move(table),
                                   arguments.Choice("policy"));
}

// One row per trained position. Evaluations measure positions past the table,
// so the policy must not be ERROR.
void ApplyTrainingDefaults(const TrainingSetting& setting,
                           Arguments* arguments) {
  if (!arguments->Has("table") && !arguments->Has("max_length")) {
    arguments->Set("max_length", setting.train_length);
  }
  if (!arguments->Has("policy")) arguments->Set("policy", std::string("CLAMP"));
}

}  // namespace

SchemeInfo DescribeLearned() {
  return {
      .name = "learned",
      .title = "Learned table",
      .site = Site::kEmbeddings,
      .parameters =
          {{.kind = ParameterKind::kTensor,
            .name = "table",
            .description = "rows of the table, [length, dim]; instead of seed"},
           {.kind = ParameterKind::kSeed,
            .name = "seed",
            .description = "seed of the rows, which are drawn from N(0, 0.02)"},
           {.kind = ParameterKind::kInteger,
            .name = "max_length",
            .description = "number of rows of a seeded table; 512 if unset",
            .min = 1,
            .max = 0x1p53},
           {.kind = ParameterKind::kChoice,
            .name = "policy",
            .description = "code of positions past the table",
            .choices = {"ERROR", "CLAMP", "WRAP", "ZERO", "RANDOM",
                        "INTERPOLATE"}}},
      .promises = {kNo, kYes, kNo, kNo, kNotApplicable, kNotApplicable, kYes,
                   Promise{Promise::Answer::kYes, "within the table"}, kNo, kNo,
                   Promise{Promise::Answer::kYes,
                           "unless the table is interpolated"},
                   Promise{
                       Promise::Answer::kNo,
                       "unless rows past the table are drawn (policy RANDOM)"},
                   kYes},
      .reference = "Gehring et al., 2017, arXiv:1705.03122",
      .beyond_training = "The table ends; policy decides what follows.",
      .make = Make,
      .apply_training_defaults = ApplyTrainingDefaults,
  };
}

}  // namespace locus
