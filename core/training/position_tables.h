// A scheme tabulated for the sequences of one training or test.
//
// A model sees any scheme as three kinds of tables: code rows that are added to
// embeddings, rotations of queries and keys, and bias rows that are added to
// scores. For schemes with learned parameters, the class also maps gradients of
// those rows back to gradients of the parameters.
//
// Token n of every sequence has position n, or the position that SetPositions()
// assigned to it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/encoding/scheme.h"
#include "core/simd/matrix.h"

namespace locus {

struct TransformerShape;

// T is float or double. Const methods are thread-safe.
template <typename T>
class PositionTables {
 public:
  // Creates tables for sequences of at most `length` tokens. Token n has
  // position n unless SetPositions() is called, which requires a
  // `position_limit` above 0. Returns INVALID_ARGUMENT if the scheme does not
  // fit the model.
  static absl::StatusOr<std::unique_ptr<PositionTables>> Create(
      const Scheme& scheme, const TransformerShape& shape, int64_t length,
      int64_t position_limit = 0);
  // Returns the number of learned parameters of the scheme. Returns
  // INVALID_ARGUMENT if the scheme does not fit the model or positions below
  // `length`.
  static absl::StatusOr<int64_t> ParameterCount(const Scheme& scheme,
                                                const TransformerShape& shape,
                                                int64_t length);
  PositionTables(const PositionTables&) = delete;
  PositionTables& operator=(const PositionTables&) = delete;

  // Memory of the tables of a scheme and their gradients, in bytes.
  static int64_t Bytes(const TransformerShape& shape, int64_t length);
  // Additional memory of a bias that depends on both positions, in bytes. Its
  // gradient takes as much again.
  static int64_t PairwiseBytes(const TransformerShape& shape, int64_t length);

  int64_t length() const { return length_; }

  // Learned parameters of the scheme. Call Update() after changing them.
  absl::Span<double> parameters() const;
  // Recomputes the tables from the parameters.
  void Update();
  // Sets the positions of the tokens: [length], ascending and below the
  // position limit. Recomputes all tables.
  void SetPositions(absl::Span<const int64_t> positions);

  // Returns the code of token n: [dim], or null if the scheme adds none.
  const T* Code(int64_t n) const {
    return code_ == nullptr ? nullptr : code_rows_.view().row(n);
  }
  bool rotates() const { return rotation_ != nullptr; }
  // Rotates one head's query and key of token n in place. Requires rotates().
  void Rotate(int64_t n, T* query, T* key) const;
  // Applies the transpose of Rotate() to the gradients of a rotated query and
  // key.
  void RotateBackward(int64_t n, T* d_query, T* d_key) const;
  // Returns the biases of a query for keys 0, 1, ..., or null if the scheme has
  // none.
  const T* BiasRow(int64_t head, int64_t query) const {
    return bias_ == nullptr ? nullptr
                            : bias_rows_.data() + BiasStart(head, query);
  }

  // Gradients of the code rows and bias rows, summed over sequences.
  struct Gradient {
    Matrix<T> code;
    std::vector<T> bias;
  };
  bool learns_code() const;
  bool learns_bias() const;
  // Resizes a gradient for these tables and sets it to zero.
  void Clear(Gradient* gradient) const;
  // Returns the gradient of the biases of a query for keys 0, 1, ....
  T* BiasRow(Gradient* gradient, int64_t head, int64_t query) const {
    return gradient->bias.data() + BiasStart(head, query);
  }
  // Adds the gradient of the parameters to `d_parameters`.
  void Backward(const Gradient& gradient,
                absl::Span<double> d_parameters) const;

 private:
  PositionTables() = default;
  // Compiles the scheme without computing the tables.
  absl::Status Compile(const Scheme& scheme, const TransformerShape& shape,
                       int64_t length, int64_t position_limit);
  int64_t PositionOf(int64_t n) const {
    return positions_.empty() ? n : positions_[n];
  }
  // Index of the bias of key 0 in bias_rows_. Biases that depend on the offset
  // alone are stored once per offset, from -(length - 1) to length - 1, so that
  // the row of a query is a slice. Other biases, and those of tokens with
  // assigned positions, are stored as [head, query, key].
  int64_t BiasStart(int64_t head, int64_t query) const {
    return by_offset_ ? head * (2 * length_ - 1) + length_ - 1 - query
                      : (head * length_ + query) * length_;
  }
  struct Angles {
    std::vector<T> cos, sin, negated_sin;  // [length, pairs]
  };
  void UpdateCode();
  void UpdateRotation();
  void UpdateAngles(const Rotation& rotation, Angles* angles);
  void UpdateBias();

  CompiledScheme compiled_;
  // At most one of these is not null; they point into compiled_.
  AdditiveCode* code_ = nullptr;
  Rotation* rotation_ = nullptr;
  ScoreBias* bias_ = nullptr;
  int64_t length_ = 0;
  int64_t dim_ = 0;
  int64_t head_count_ = 0;
  bool by_offset_ = true;
  bool causal_ = true;
  std::vector<int64_t> positions_;  // [length]; empty if token n is at n
  Matrix<T> code_rows_;             // [length, dim]
  Angles query_angles_;
  Angles key_angles_;
  std::vector<T> bias_rows_;
};

}  // namespace locus
