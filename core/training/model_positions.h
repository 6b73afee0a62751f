// The position schemes of all layers of a model, tabulated for one sequence
// length.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/training/model_scheme.h"
#include "core/training/position_tables.h"

namespace locus {

// Holds one PositionTables per distinct scheme. T is float or double. Const
// methods are thread-safe.
template <typename T>
class ModelPositions {
 public:
  // Creates tables for sequences of at most `length` tokens. Token n has
  // position n unless SetPositions() is called, which requires a
  // `position_limit` above 0. Returns INVALID_ARGUMENT if a scheme does not fit
  // the model.
  static absl::StatusOr<std::unique_ptr<ModelPositions>> Create(
      const ModelScheme& scheme, const TransformerShape& shape, int64_t length,
      int64_t position_limit = 0);

  // Learned parameters of all schemes, concatenated.
  int64_t parameter_count() const;
  void CopyParametersTo(T* to) const;
  // Replaces the parameters and recomputes the tables that depend on them.
  void CopyParametersFrom(const T* from);
  // Sets the positions of the tokens of all sequences, which must be ascending
  // and below the position limit, and recomputes all tables.
  void SetPositions(absl::Span<const int64_t> positions);

  struct Layer {
    const PositionTables<T>& tables;
    int64_t window;
    int table;  // index of the layer's tables in a Gradient
  };
  Layer layer(int64_t index) const {
    const LayerEntry& entry = layers_[index];
    return {*tables_[entry.table], entry.window, entry.table};
  }
  // Adds the codes of token n to its embedding, row: [dim].
  void AddCode(int64_t n, T* row) const;

  // Gradients of the tables, one entry per distinct scheme.
  using Gradient = std::vector<typename PositionTables<T>::Gradient>;
  // Resizes a gradient for these tables and sets it to zero.
  void Clear(Gradient* gradient) const;
  // Adds d_row: [dim], the gradient of the embedding of token n, to the
  // gradients of the codes that AddCode() added.
  void AddCodeGradient(int64_t n, const T* d_row, Gradient* gradient) const;
  // total += other.
  void Sum(const Gradient& other, Gradient* total) const;
  // Adds the gradient of the parameters to d_parameters: [parameter_count()].
  void Backward(const Gradient& gradient,
                absl::Span<double> d_parameters) const;

 private:
  struct LayerEntry {
    int table;
    int64_t window;
  };

  int64_t dim_ = 0;
  std::vector<std::unique_ptr<PositionTables<T>>> tables_;
  std::vector<LayerEntry> layers_;
};

}  // namespace locus
