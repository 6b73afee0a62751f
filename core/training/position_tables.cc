#include "core/training/position_tables.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/training/transformer.h"

namespace locus {

template <typename T>
absl::Status PositionTables<T>::Compile(const Scheme& scheme,
                                        const TransformerShape& shape,
                                        int64_t length,
                                        int64_t position_limit) {
  length_ = length;
  dim_ = shape.dim;
  head_count_ = shape.head_count;
  causal_ = shape.causal;
  LOCUS_ASSIGN_OR_RETURN(
      compiled_,
      scheme.Compile(
          {.dim = scheme.site() == Site::kEmbeddings ? shape.dim
                                                     : shape.head_dim(),
           .head_count = shape.head_count,
           .max_position = (position_limit > 0 ? position_limit : length) - 1,
           .max_exponent =
               std::is_same_v<T, double> ? kDoubleExponent : kSingleExponent,
           .trainable = true}));
  if (auto* code = std::get_if<std::unique_ptr<AdditiveCode>>(&compiled_)) {
    code_ = code->get();
  } else if (auto* bias = std::get_if<std::unique_ptr<ScoreBias>>(&compiled_)) {
    bias_ = bias->get();
    by_offset_ = bias_->depends_on_offset_alone() && position_limit == 0;
  } else {
    rotation_ = std::get_if<Rotation>(&compiled_);
  }
  if (IsCausal(compiled_) && !shape.causal) {
    return InvalidField(
        absl::StrCat("scheme.", scheme.name()),
        "is defined for causal models only, and this model is not causal");
  }
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<std::unique_ptr<PositionTables<T>>> PositionTables<T>::Create(
    const Scheme& scheme, const TransformerShape& shape, int64_t length,
    int64_t position_limit) {
  std::unique_ptr<PositionTables> tables(new PositionTables);
  LOCUS_RETURN_IF_ERROR(tables->Compile(scheme, shape, length, position_limit));
  tables->UpdateRotation();
  tables->Update();
  return tables;
}

template <typename T>
absl::StatusOr<int64_t> PositionTables<T>::ParameterCount(
    const Scheme& scheme, const TransformerShape& shape, int64_t length) {
  PositionTables tables;
  LOCUS_RETURN_IF_ERROR(tables.Compile(scheme, shape, length, 0));
  return static_cast<int64_t>(tables.parameters().size());
}

template <typename T>
void PositionTables<T>::UpdateRotation() {
  if (rotation_ == nullptr) return;
  UpdateAngles(*rotation_, &query_angles_);
  UpdateAngles(rotation_->OfKeys(), &key_angles_);
}

template <typename T>
void PositionTables<T>::UpdateAngles(const Rotation& rotation, Angles* angles) {
  const int64_t pairs = rotation.pair_count();
  angles->cos.resize(length_ * pairs);
  angles->sin.resize(length_ * pairs);
  for (int64_t p = 0; p < length_; ++p) {
    rotation.Angles(PositionOf(p), angles->cos.data() + p * pairs,
                    angles->sin.data() + p * pairs);
  }
  angles->negated_sin.resize(angles->sin.size());
  std::transform(angles->sin.begin(), angles->sin.end(),
                 angles->negated_sin.begin(), [](T sin) { return -sin; });
}

template <typename T>
int64_t PositionTables<T>::Bytes(const TransformerShape& shape,
                                 int64_t length) {
  const int64_t code = Matrix<T>::Size(length, shape.dim);
  const int64_t bias = shape.head_count * 2 * length;
  return static_cast<int64_t>(sizeof(T)) * 2 * (code + bias);
}

template <typename T>
int64_t PositionTables<T>::PairwiseBytes(const TransformerShape& shape,
                                         int64_t length) {
  return static_cast<int64_t>(sizeof(T)) * shape.head_count * length * length;
}

template <typename T>
absl::Span<double> PositionTables<T>::parameters() const {
  if (code_ != nullptr) return code_->parameters();
  if (bias_ != nullptr) return bias_->parameters();
  return {};
}

template <typename T>
bool PositionTables<T>::learns_code() const {
  return code_ != nullptr && !code_->parameters().empty();
}

template <typename T>
bool PositionTables<T>::learns_bias() const {
  return bias_ != nullptr && !bias_->parameters().empty();
}

template <typename T>
void PositionTables<T>::Update() {
  if (code_ != nullptr) UpdateCode();
  if (bias_ != nullptr) UpdateBias();
}

template <typename T>
void PositionTables<T>::SetPositions(absl::Span<const int64_t> positions) {
  positions_.assign(positions.begin(), positions.end());
  UpdateRotation();
  Update();
}

template <typename T>
void PositionTables<T>::UpdateCode() {
  const MatrixView<T> rows = code_rows_.Resize(length_, dim_);
  std::vector<double> row(dim_);
  for (int64_t p = 0; p < length_; ++p) {
    code_->Row(PositionOf(p), absl::MakeSpan(row));
    std::copy(row.begin(), row.end(), rows.row(p));
  }
}

template <typename T>
void PositionTables<T>::UpdateBias() {
  const int64_t per_head = by_offset_ ? 2 * length_ - 1 : length_ * length_;
  bias_rows_.assign(head_count_ * per_head + Matrix<T>::kSlack, T(0));
  for (int64_t h = 0; h < head_count_; ++h) {
    if (by_offset_) {
      // rows[-n] is the bias of key n positions before a query, rows[n] that of
      // a key n positions after it.
      T* const rows = bias_rows_.data() + h * per_head + length_ - 1;
      for (int64_t n = 0; n < length_; ++n) {
        rows[-n] = static_cast<T>(bias_->At(h, n, 0));
        if (!causal_) rows[n] = static_cast<T>(bias_->At(h, 0, n));
      }
      continue;
    }
    for (int64_t i = 0; i < length_; ++i) {
      T* const row = bias_rows_.data() + BiasStart(h, i);
      const int64_t visible = causal_ ? i + 1 : length_;
      for (int64_t j = 0; j < visible; ++j) {
        row[j] = static_cast<T>(bias_->At(h, PositionOf(i), PositionOf(j)));
      }
    }
  }
}

template <typename T>
void PositionTables<T>::Rotate(int64_t n, T* query, T* key) const {
  const int64_t start = n * rotation_->pair_count();
  rotation_->Apply(query_angles_.cos.data() + start,
                   query_angles_.sin.data() + start, query);
  rotation_->Apply(key_angles_.cos.data() + start,
                   key_angles_.sin.data() + start, key);
}

template <typename T>
void PositionTables<T>::RotateBackward(int64_t n, T* d_query, T* d_key) const {
  const int64_t start = n * rotation_->pair_count();
  rotation_->Apply(query_angles_.cos.data() + start,
                   query_angles_.negated_sin.data() + start, d_query);
  rotation_->Apply(key_angles_.cos.data() + start,
                   key_angles_.negated_sin.data() + start, d_key);
}

template <typename T>
void PositionTables<T>::Clear(Gradient* gradient) const {
  if (learns_code()) {
    const MatrixView<T> rows = gradient->code.Resize(length_, dim_);
    std::fill_n(rows.data, length_ * rows.stride, T(0));
  }
  if (learns_bias()) gradient->bias.assign(bias_rows_.size(), T(0));
}

template <typename T>
void PositionTables<T>::Backward(const Gradient& gradient,
                                 absl::Span<double> d_parameters) const {
  if (learns_code()) {
    std::vector<double> row(dim_);
    for (int64_t p = 0; p < length_; ++p) {
      std::copy_n(gradient.code.view().row(p), dim_, row.begin());
      code_->Backward(PositionOf(p), row, d_parameters);
    }
  }
  if (!learns_bias()) return;
  const auto add = [&](int64_t h, int64_t i, int64_t j) {
    const T value = gradient.bias[BiasStart(h, i) + j];
    if (value == 0) return;
    bias_->Backward(h, PositionOf(i), PositionOf(j), value, d_parameters);
  };
  for (int64_t h = 0; h < head_count_; ++h) {
    if (by_offset_) {
      for (int64_t n = 0; n < length_; ++n) add(h, n, 0);
      for (int64_t n = 1; n < length_; ++n) add(h, 0, n);
      continue;
    }
    for (int64_t i = 0; i < length_; ++i) {
      for (int64_t j = 0; j < length_; ++j) add(h, i, j);
    }
  }
}

template class PositionTables<float>;
template class PositionTables<double>;

}  // namespace locus
