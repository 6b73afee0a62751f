// The schemes of all layers of a model as arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/training/model_scheme.h"
#include "core/training/position_tables.h"

namespace locus {

// T is float or double. Const methods are thread-safe.
template <typename T>
class ModelPositions {
 public:
  // For sequences of at most `length` tokens, which stand at 0, 1, ... unless
  // there is a maximum below which Place puts them. INVALID_ARGUMENT if a
  // scheme does not fit the model.
  static absl::StatusOr<std::unique_ptr<ModelPositions>> Create(
      const ModelScheme& scheme, const TransformerShape& shape, int64_t length,
      int64_t maximum = 0);

  // One after the other, those of schemes that learn. Copying them in brings
  // everything up to date.
  int64_t parameter_count() const;
  void CopyParametersTo(T* to) const;
  void CopyParametersFrom(const T* from);
  // Puts the tokens of all sequences there; ascending, below the maximum.
  void Place(absl::Span<const int64_t> positions);

  struct Layer {
    const PositionTables<T>& tables;
    int64_t window;
    int table;  // which of the gradients is its own
  };
  Layer layer(int64_t index) const {
    const Choice& choice = layers_[index];
    return {*tables_[choice.table], choice.window, choice.table};
  }
  // Adds what schemes add to the embedding of token n; row: [dim].
  void AddCode(int64_t n, T* row) const;

  // One for each scheme that differs.
  using Gradient = std::vector<typename PositionTables<T>::Gradient>;
  // Makes it all zero, of the right size.
  void Clear(Gradient* gradient) const;
  // Adds what a gradient of the embedding of token n is for what was added.
  void AddCodeGradient(int64_t n, const T* d_row, Gradient* gradient) const;
  void Sum(const Gradient& other, Gradient* total) const;
  // Adds what it all is for the parameters.
  void Backward(const Gradient& gradient,
                absl::Span<double> d_parameters) const;

 private:
  struct Choice {
    int table;
    int64_t window;
  };

  int64_t dim_ = 0;
  std::vector<std::unique_ptr<PositionTables<T>>> tables_;
  std::vector<Choice> layers_;
};

}  // namespace locus
