#include "core/training/model_positions.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/training/layer_ops.h"
#include "core/training/transformer.h"

namespace locus {
namespace {

// Returns each Scheme object that the layers use once, in the order of layers.
std::vector<const Scheme*> DistinctSchemes(const ModelScheme& scheme,
                                           int64_t layer_count) {
  std::vector<const Scheme*> distinct;
  for (int64_t l = 0; l < layer_count; ++l) {
    const Scheme* each = scheme.layer(l).scheme;
    if (std::find(distinct.begin(), distinct.end(), each) == distinct.end()) {
      distinct.push_back(each);
    }
  }
  return distinct;
}

}  // namespace

template <typename T>
absl::StatusOr<std::unique_ptr<ModelPositions<T>>> ModelPositions<T>::Create(
    const ModelScheme& scheme, const TransformerShape& shape, int64_t length,
    int64_t position_limit) {
  auto positions = std::make_unique<ModelPositions>();
  positions->dim_ = shape.dim;
  const auto distinct = DistinctSchemes(scheme, shape.layer_count);
  for (const Scheme* each : distinct) {
    LOCUS_ASSIGN_OR_RETURN(
        auto tables,
        PositionTables<T>::Create(*each, shape, length, position_limit));
    positions->tables_.push_back(std::move(tables));
  }
  for (int64_t l = 0; l < shape.layer_count; ++l) {
    const LayerScheme& layer = scheme.layer(l);
    const auto found =
        std::find(distinct.begin(), distinct.end(), layer.scheme);
    // A window of at least the sequence length hides nothing.
    positions->layers_.push_back({static_cast<int>(found - distinct.begin()),
                                  layer.window < length ? layer.window : 0});
  }
  return positions;
}

template <typename T>
int64_t ModelPositions<T>::parameter_count() const {
  int64_t count = 0;
  for (const auto& tables : tables_) {
    count += static_cast<int64_t>(tables->parameters().size());
  }
  return count;
}

template <typename T>
void ModelPositions<T>::CopyParametersTo(T* to) const {
  for (const auto& tables : tables_) {
    const absl::Span<double> own = tables->parameters();
    to = std::copy(own.begin(), own.end(), to);
  }
}

template <typename T>
void ModelPositions<T>::CopyParametersFrom(const T* from) {
  for (const auto& tables : tables_) {
    const absl::Span<double> own = tables->parameters();
    if (own.empty()) continue;
    std::copy_n(from, own.size(), own.begin());
    from += own.size();
    tables->Update();
  }
}

template <typename T>
void ModelPositions<T>::SetPositions(absl::Span<const int64_t> positions) {
  for (const auto& tables : tables_) tables->SetPositions(positions);
}

template <typename T>
void ModelPositions<T>::AddCode(int64_t n, T* row) const {
  for (const auto& tables : tables_) {
    const T* const code = tables->Code(n);
    if (code != nullptr) GetLayerOps<T>().Add(code, row, dim_);
  }
}

template <typename T>
void ModelPositions<T>::Clear(Gradient* gradient) const {
  gradient->resize(tables_.size());
  for (size_t n = 0; n < tables_.size(); ++n) {
    tables_[n]->Clear(&(*gradient)[n]);
  }
}

template <typename T>
void ModelPositions<T>::AddCodeGradient(int64_t n, const T* d_row,
                                        Gradient* gradient) const {
  for (size_t t = 0; t < tables_.size(); ++t) {
    if (!tables_[t]->learns_code()) continue;
    GetLayerOps<T>().Add(d_row, (*gradient)[t].code.view().row(n), dim_);
  }
}

template <typename T>
void ModelPositions<T>::Sum(const Gradient& other, Gradient* total) const {
  for (size_t t = 0; t < tables_.size(); ++t) {
    auto& sum = (*total)[t];
    if (tables_[t]->learns_code()) {
      const MatrixView<T> rows = sum.code.view();
      for (int64_t n = 0; n < rows.rows; ++n) {
        GetLayerOps<T>().Add(other[t].code.view().row(n), rows.row(n),
                             rows.columns);
      }
    }
    for (size_t i = 0; i < sum.bias.size(); ++i) {
      sum.bias[i] += other[t].bias[i];
    }
  }
}

template <typename T>
void ModelPositions<T>::Backward(const Gradient& gradient,
                                 absl::Span<double> d_parameters) const {
  for (size_t t = 0; t < tables_.size(); ++t) {
    const size_t own = tables_[t]->parameters().size();
    tables_[t]->Backward(gradient[t], d_parameters.subspan(0, own));
    d_parameters.remove_prefix(own);
  }
}

template class ModelPositions<float>;
template class ModelPositions<double>;

}  // namespace locus
