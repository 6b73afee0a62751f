#include "client/cli/render/attention_map.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/base/printable.h"
#include "client/cli/support/color.h"
#include "client/cli/support/text_layout.h"
#include "client/plot/color_map.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr int64_t kMaxMaps = 4;
constexpr int kMaxRowLabel = 16;
constexpr int kMinColumnLabel = 3;
// Weights from which on a cell has the next shade, as shares of the largest
// weight. They are squares, so that small weights are seen too.
constexpr double kShadeFrom[] = {0.04, 0.16, 0.36, 0.64};
constexpr const char* kShades[] = {" ", "\xe2\x96\x91", "\xe2\x96\x92",
                                   "\xe2\x96\x93", "\xe2\x96\x88"};

std::string Shortened(const std::string& text, int width) {
  if (DisplayWidth(text) <= width) return text;
  return absl::StrCat(PrefixOfWidth(text, width - 1), "\xe2\x80\xa6");
}

// One matrix of weights, whose elements begin at index `offset`.
class WeightMap {
 public:
  WeightMap(const TensorTable& table, const v1::Tensor& weights, int64_t offset)
      : table_(table),
        weights_(weights),
        offset_(offset),
        rows_(weights.shape(weights.shape_size() - 2)),
        columns_(weights.shape(weights.shape_size() - 1)) {
    for (int64_t row = 0; row < rows_; ++row) {
      label_width_ =
          std::max(label_width_, DisplayWidth(Label(table_.row_label, row)));
      for (int64_t column = 0; column < columns_; ++column) {
        const double weight = At(row, column);
        if (std::isfinite(weight)) largest_ = std::max(largest_, weight);
      }
    }
    label_width_ = std::min(label_width_, kMaxRowLabel);
    for (int64_t column = 0; column < columns_; ++column) {
      column_label_width_ =
          std::max(column_label_width_,
                   DisplayWidth(Label(table_.column_label, column)));
    }
  }

  std::string Format() const {
    if (rows_ <= kMaxRows) {
      for (const int decimals : {4, 2}) {
        const int number_width = decimals + 2;
        // The labels of the columns are only cut if they must be.
        for (const int labels : {column_label_width_, number_width}) {
          const int cell_width = std::max(number_width, labels);
          if (TotalWidth(cell_width + 2) <= table_.width) {
            return FormatNumbers(decimals, cell_width);
          }
        }
      }
    }
    return FormatShades();
  }

 private:
  static constexpr int64_t kMaxRows = 64;

  double At(int64_t row, int64_t column) const {
    return ElementAt(weights_, offset_ + row * columns_ + column);
  }

  // The space between labels and cells. Cells without colour begin with one.
  static int Gap() { return OutputHasColor() ? 1 : 0; }

  int64_t TotalWidth(int64_t cell_width) const {
    return label_width_ + Gap() + columns_ * cell_width;
  }

  static std::string Label(const std::function<std::string(int64_t)>& label,
                           int64_t index) {
    return label ? PrintableLine(label(index)) : absl::StrCat(index);
  }

  double ShareOfLargest(double weight) const {
    return largest_ > 0 && std::isfinite(weight) ? weight / largest_ : 0;
  }

  const char* Shade(double weight) const {
    const double share = ShareOfLargest(weight);
    const auto* const level =
        std::upper_bound(std::begin(kShadeFrom), std::end(kShadeFrom), share);
    return kShades[level - std::begin(kShadeFrom)];
  }

  // A weight of zero has no background, so that hidden keys look empty.
  std::string Colored(double weight, absl::string_view text) const {
    if (weight == 0) return Dim(text);
    return OnBackground(
        plot::ColorAt(plot::ColorMap::kSequential,
                      std::sqrt(std::max(0.0, ShareOfLargest(weight)))),
        text);
  }

  // A row label, and cells of `cell_width` columns with a space before them and
  // the shade after them; with colour, a space on either side.
  std::string FormatNumbers(int decimals, int cell_width) const {
    std::string text(label_width_ + Gap(), ' ');
    for (int64_t column = 0; column < columns_; ++column) {
      const std::string label =
          Shortened(Label(table_.column_label, column), cell_width);
      absl::StrAppend(&text, " ", Bold(PadLeft(label, cell_width)), " ");
    }
    text = absl::StrCat(absl::StripTrailingAsciiWhitespace(text), "\n");
    for (int64_t row = 0; row < rows_; ++row) {
      std::string line = absl::StrCat(RowLabel(row), std::string(Gap(), ' '));
      for (int64_t column = 0; column < columns_; ++column) {
        const double weight = At(row, column);
        const std::string number =
            PadLeft(absl::StrFormat("%.*f", decimals, weight), cell_width);
        if (OutputHasColor()) {
          absl::StrAppend(&line,
                          Colored(weight, absl::StrCat(" ", number, " ")));
        } else {
          absl::StrAppend(&line, " ", number, Shade(weight));
        }
      }
      absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
    }
    return text;
  }

  std::string RowLabel(int64_t row) const {
    return PadRight(Shortened(Label(table_.row_label, row), label_width_),
                    label_width_);
  }

  // Shades without numbers, two columns per key if they fit, else one, which
  // may stand for several keys.
  std::string FormatShades() const {
    const int64_t space = std::max<int64_t>(1, table_.width - label_width_ - 1);
    const int64_t cell_width = 2 * columns_ <= space ? 2 : 1;
    const int64_t keys = (columns_ * cell_width + space - 1) / space;
    const int64_t queries = (rows_ + kMaxRows - 1) / kMaxRows;
    std::string text = Ruler(keys, cell_width);
    for (int64_t row = 0; row < rows_; row += queries) {
      std::string line = absl::StrCat(RowLabel(row), " ");
      for (int64_t column = 0; column < columns_; column += keys) {
        const double weight = LargestIn(row, queries, column, keys);
        std::string cell;
        for (int64_t i = 0; i < cell_width; ++i) {
          cell += OutputHasColor() ? " " : Shade(weight);
        }
        absl::StrAppend(&line, Colored(weight, cell));
      }
      absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
    }
    if (keys > 1 || queries > 1) {
      absl::StrAppend(&text, "A cell is the largest weight of ", queries,
                      queries == 1 ? " query" : " queries", " and ", keys,
                      keys == 1 ? " key.\n" : " keys.\n");
    }
    return text;
  }

  double LargestIn(int64_t row, int64_t row_count, int64_t column,
                   int64_t column_count) const {
    double largest = 0;
    for (int64_t r = row; r < std::min(row + row_count, rows_); ++r) {
      for (int64_t c = column; c < std::min(column + column_count, columns_);
           ++c) {
        const double weight = At(r, c);
        if (std::isfinite(weight)) largest = std::max(largest, weight);
      }
    }
    return largest;
  }

  // The indices of the keys above the map, as many as fit.
  std::string Ruler(int64_t keys, int64_t cell_width) const {
    const auto digits = static_cast<int64_t>(absl::StrCat(columns_ - 1).size());
    // The number of cells between two indices: 1, 2, 5, 10, 20, 50, ...
    int64_t step = 1;
    for (int64_t ten = 1; step * cell_width <= digits; ten *= 10) {
      for (const int64_t factor : {1, 2, 5}) {
        step = factor * ten;
        if (step * cell_width > digits) break;
      }
    }
    std::string line(label_width_ + 1, ' ');
    for (int64_t cell = 0; cell * keys < columns_; cell += step) {
      line += PadRight(absl::StrCat(cell * keys),
                       static_cast<int>(step * cell_width));
    }
    return absl::StrCat(absl::StripTrailingAsciiWhitespace(line), "\n");
  }

  const TensorTable& table_;
  const v1::Tensor& weights_;
  const int64_t offset_;
  const int64_t rows_;
  const int64_t columns_;
  int label_width_ = 0;
  int column_label_width_ = kMinColumnLabel;
  double largest_ = 0;
};

}  // namespace

std::string FormatAttentionMap(const TensorTable& table,
                               const v1::Tensor& weights) {
  const int rank = weights.shape_size();
  if (rank < 2 || weights.data().empty()) return FormatTensor(table, weights);
  std::string text =
      absl::StrCat(table.title, "  ", DataTypeName(weights.dtype()), " ",
                   ShapeName(weights), "\n");
  const int64_t size = weights.shape(rank - 2) * weights.shape(rank - 1);
  const int64_t count = static_cast<int64_t>(weights.data().size()) /
                        ElementSize(weights.dtype()) / size;
  for (int64_t i = 0; i < std::min(count, kMaxMaps); ++i) {
    if (rank > 2) {
      absl::StrAppend(
          &text, i == 0 ? "" : "\n",
          table.table_label ? table.table_label(i) : absl::StrCat("map ", i),
          "\n");
    }
    text += WeightMap(table, weights, i * size).Format();
  }
  if (count > kMaxMaps) {
    absl::StrAppend(&text, "... and ", count - kMaxMaps, " more\n");
  }
  if (!OutputHasColor()) {
    text +=
        "\xe2\x96\x91 \xe2\x96\x92 \xe2\x96\x93 \xe2\x96\x88: from 4, 16, 36 "
        "and 64 % of the largest weight\n";
  }
  return text;
}

}  // namespace locus::client
