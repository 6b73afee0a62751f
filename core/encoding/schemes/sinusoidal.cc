// Sinusoidal position code.
//
//   PE[p, 2k] = sin(p w_k),  PE[p, 2k + 1] = cos(p w_k),  w_k = base^(-2k / d)
//
// Vaswani et al., 2017, "Attention Is All You Need", section 3.5. The layout
// `halves` has all sines before all cosines. The layout `tensor2tensor` is
// `halves` with w_k = base^(-k / (d/2 - 1)), as in the library of that name,
// and its last column is zero if the width is odd. In the other layouts, an odd
// width has one more sine than cosines. Past the training length the code is
// defined and bounded, but combinations of phases appear that were never
// trained.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/encoding/angles/angles.h"
#include "core/encoding/scheme.h"

namespace locus {
namespace {

class SinusoidalCode final : public AdditiveCode {
 public:
  // If not interleaved, all sines come first. A row has one sine per frequency,
  // used_columns cosines and sines in total, and zeros in the remaining
  // columns.
  SinusoidalCode(std::vector<double> frequencies, bool interleaved,
                 int64_t used_columns)
      : frequencies_(std::move(frequencies)),
        interleaved_(interleaved),
        used_columns_(used_columns) {}

  void Row(int64_t position, absl::Span<double> row) const override {
    Fill(1, row, StorePolicy::kCached,
         [&](const auto& table) { FillAngles(table, position); });
  }
  void Rows(const Positions& positions, int64_t first, int64_t count,
            absl::Span<double> rows, StorePolicy store_policy) const override {
    Fill(count, rows, store_policy, [&](const auto& table) {
      FillAngles(table, positions, first, count);
    });
  }
  void Rows(const Positions& positions, int64_t first, int64_t count,
            absl::Span<float> rows, StorePolicy store_policy) const override {
    Fill(count, rows, store_policy, [&](const auto& table) {
      FillAngles(table, positions, first, count);
    });
  }
  std::vector<double> frequencies() const override { return frequencies_; }

 private:
  // Calls fill(AngleTable) for the columns of the rows: once for pairs of sine
  // and cosine, once more for a sine without cosine.
  template <typename T, typename Body>
  void Fill(int64_t count, absl::Span<T> rows, StorePolicy store_policy,
            const Body& fill) const {
    if (rows.empty()) return;
    const auto dim = static_cast<int64_t>(rows.size()) / count;
    const auto sines = static_cast<int64_t>(frequencies_.size());
    const int64_t cosines = used_columns_ - sines;
    using Table = AngleTable<T>;
    Table table{.frequencies = absl::MakeSpan(frequencies_).first(cosines),
                .layout = interleaved_ ? Table::Layout::kInterleaved
                                       : Table::Layout::kSeparate,
                .sin = rows.data(),
                .cos = interleaved_ ? nullptr : rows.data() + sines,
                .stride = dim,
                .store_policy = store_policy};
    fill(table);
    if (cosines < sines) {
      table.frequencies = absl::MakeSpan(frequencies_).subspan(cosines);
      table.layout = Table::Layout::kSeparate;
      table.sin += interleaved_ ? 2 * cosines : cosines;
      table.cos = nullptr;
      fill(table);
    }
    for (int64_t i = 0; i < count && used_columns_ < dim; ++i) {
      std::fill(rows.begin() + i * dim + used_columns_,
                rows.begin() + (i + 1) * dim, T(0));
    }
  }

  const std::vector<double> frequencies_;
  const bool interleaved_;
  const int64_t used_columns_;
};

class Sinusoidal final : public SchemeFormula {
 public:
  Sinusoidal(double base, std::string layout)
      : base_(base), layout_(std::move(layout)) {}

  Promises PropertiesWith(const Promises& promises) const override {
    Promises amended = promises;
    if (base_ < 1) {  // Frequencies above one radian per position.
      amended[static_cast<int>(Property::kSmoothness)].answer =
          Promise::Answer::kNo;
    }
    return amended;
  }

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    const int64_t dim = geometry.dim;
    if (layout_ == "TENSOR2TENSOR") {
      if (dim < 4) {
        return InvalidField("layout",
                            absl::StrCat("is TENSOR2TENSOR with width ", dim,
                                         "; it needs a width of at least 4"));
      }
      const int64_t pairs = dim / 2;
      return Code(pairs, static_cast<double>(pairs - 1), false, 2 * pairs);
    }
    const int64_t sines = (dim + 1) / 2;
    const double span = static_cast<double>(dim) / 2;
    return Code(sines, span, layout_ == "INTERLEAVED", dim);
  }

 private:
  // The code with w_k = base^(-k / span).
  CompiledScheme Code(int64_t count, double span, bool interleaved,
                      int64_t used_columns) const {
    std::vector<double> frequencies(count);
    for (int64_t k = 0; k < count; ++k) {
      frequencies[k] = std::pow(base_, -static_cast<double>(k) / span);
    }
    return std::make_unique<SinusoidalCode>(std::move(frequencies), interleaved,
                                            used_columns);
  }

  const double base_;
  const std::string layout_;
};

absl::StatusOr<std::unique_ptr<SchemeFormula>> Make(
    const Arguments& arguments) {
  return std::make_unique<Sinusoidal>(arguments.Number("base"),
                                      arguments.Choice("layout"));
}

}  // namespace

SchemeInfo DescribeSinusoidal() {
  return {
      .name = "sinusoidal",
      .title = "Sinusoidal table",
      .site = Site::kEmbeddings,
      .parameters = {{.kind = ParameterKind::kNumber,
                      .name = "base",
                      .description =
                          "the longest wavelength is 2 pi times about this",
                      .default_number = 10000,
                      .min = 1e-6,
                      .max = 1e30},
                     {.kind = ParameterKind::kChoice,
                      .name = "layout",
                      .description = "the order of the columns",
                      .choices = {"INTERLEAVED", "HALVES", "TENSOR2TENSOR"}}},
      .promises = {kNo, kYes, kNo, kYes, kNotApplicable, kNotApplicable,
                   Promise{Promise::Answer::kYes,
                           "the squared norm is d / 2 for even d"},
                   kYes, kNo,
                   Promise{Promise::Answer::kYes, "for a base of at least 1"},
                   kYes, kYes, kYes},
      .reference = "Vaswani et al., 2017, arXiv:1706.03762",
      .beyond_training =
          "Defined and bounded, but phases appear together that were never "
          "trained.",
      .make = Make,
  };
}

}  // namespace locus
