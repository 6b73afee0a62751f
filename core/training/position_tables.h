// A scheme as arrays, for the sequences of one training or test.
//
// Token n of every sequence stands at position n, or where Place put it.
// Whatever the scheme is, a model sees three things: rows to add to embeddings,
// rotations of queries and keys, and rows of biases to add to scores; and for
// schemes that learn, where the gradients of those rows go.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/simd/matrix.h"
#include "core/encoding/scheme.h"

namespace locus {

struct TransformerShape;

// T is float or double. Const methods are thread-safe.
template <typename T>
class PositionTables {
 public:
  // For sequences of at most `length` tokens, which stand at 0, 1, ... unless
  // there is a maximum below which Place puts them. INVALID_ARGUMENT if the
  // scheme does not fit the model.
  static absl::StatusOr<std::unique_ptr<PositionTables>> Create(
      const Scheme& scheme, const TransformerShape& shape, int64_t length,
      int64_t maximum = 0);
  // The number of parameters that the scheme would have, if it fits positions
  // below `length`.
  static absl::StatusOr<int64_t> ParameterCount(const Scheme& scheme,
                                                const TransformerShape& shape,
                                                int64_t length);
  PositionTables(const PositionTables&) = delete;
  PositionTables& operator=(const PositionTables&) = delete;

  // The bytes that tables for such a scheme take, gradients included.
  static int64_t Bytes(const TransformerShape& shape, int64_t length);
  // Those of a bias that depends on both positions; as many for its gradient.
  static int64_t PairwiseBytes(const TransformerShape& shape, int64_t length);

  int64_t length() const { return length_; }

  // The scheme's own numbers, and what to call when they have changed.
  absl::Span<double> parameters() const;
  void Update();
  // Puts the tokens of sequences at other positions: [length].
  void Place(absl::Span<const int64_t> positions);

  // The row to add to the embedding of token n: [dim]; null: none.
  const T* Code(int64_t n) const {
    return code_ == nullptr ? nullptr : code_rows_.view().row(n);
  }
  // Turns one head's query and key of token n in place, if the scheme does.
  bool rotates() const { return rotation_ != nullptr; }
  void Rotate(int64_t n, T* query, T* key) const;
  // Turns the gradients of what Rotate turned.
  void RotateBackward(int64_t n, T* d_query, T* d_key) const;
  // The row to add to a query's scores, from key 0 on; null: none.
  const T* BiasRow(int64_t head, int64_t query) const {
    return bias_ == nullptr ? nullptr
                            : bias_rows_.data() + BiasStart(head, query);
  }

  // Gradients of codes and biases, summed over sequences.
  struct Gradient {
    Matrix<T> code;
    std::vector<T> bias;
  };
  bool learns_code() const;
  bool learns_bias() const;
  // Makes it all zero, of the right size.
  void Clear(Gradient* gradient) const;
  // Where the gradient of a row of biases is summed.
  T* BiasRow(Gradient* gradient, int64_t head, int64_t query) const {
    return gradient->bias.data() + BiasStart(head, query);
  }
  // Adds what the gradients of all rows are for the parameters.
  void Backward(const Gradient& gradient,
                absl::Span<double> d_parameters) const;

 private:
  PositionTables() = default;
  // Everything but the arrays.
  absl::Status Compile(const Scheme& scheme, const TransformerShape& shape,
                       int64_t length, int64_t maximum);
  int64_t PositionOf(int64_t n) const {
    return places_.empty() ? n : places_[n];
  }
  // Biases of offsets lie from the most negative one on, so that the row of a
  // query is a piece of them; others, and those of tokens that are placed, lie
  // as [head, query, key].
  int64_t BiasStart(int64_t head, int64_t query) const {
    return by_offset_ ? head * (2 * length_ - 1) + length_ - 1 - query
                      : (head * length_ + query) * length_;
  }
  struct Angles {
    std::vector<T> cos, sin, back;  // [length, pairs]; back is -sin
  };
  void UpdateCode();
  void UpdateRotation();
  void UpdateAngles(const Rotation& rotation, Angles* angles);
  void UpdateBias();

  CompiledScheme compiled_;
  AdditiveCode* code_ = nullptr;
  Rotation* rotation_ = nullptr;
  ScoreBias* bias_ = nullptr;
  int64_t length_ = 0;
  int64_t dim_ = 0;
  int64_t head_count_ = 0;
  bool by_offset_ = true;
  bool causal_ = true;
  std::vector<int64_t> places_;  // [length], or empty
  Matrix<T> code_rows_;          // [length, dim]
  Angles query_angles_;
  Angles key_angles_;
  std::vector<T> bias_rows_;
};

}  // namespace locus
