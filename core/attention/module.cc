#include "core/attention/module.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <Eigen/Core>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/encoding/registry.h"
#include "core/parallel/cancellation.h"

namespace locus {
namespace {

constexpr int64_t kDefaultDim = 64;
// Maximum d_model of randomly drawn weights, which a small request can ask for:
// drawing four matrices of this width takes about a second.
constexpr int64_t kMaxDrawnDim = 4096;
// Rows of one matrix product. The number is fixed so that results do not depend
// on the number of threads.
constexpr int64_t kRowsPerStep = 64;

template <typename T>
using Matrix =
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using MatrixView = Eigen::Map<const Matrix<T>>;

}  // namespace

struct ModuleJob::Plan {
  const Scheme* scheme = nullptr;
  ModuleInputs inputs;
  AttentionOptions options;
  int64_t batch_count = 1;
  int64_t token_count = 0;
  int64_t model_dim = 0;
  int64_t head_count = 1;
  DType dtype = DType::kFloat32;
  DType wide_dtype = DType::kFloat32;
  // Code that is added to x. Null unless the scheme acts on embeddings.
  std::unique_ptr<AdditiveCode> code;
  Positions code_positions;
  // The scheme "none", which the heads use if the code is added to x.
  std::unique_ptr<Scheme> none;
  // Attention job without data, used to validate options and compute sizes.
  std::optional<AttentionJob> sized_heads;
  // Memory that the layer allocates in addition to that of the heads.
  int64_t own_scratch_bytes = 0;

  absl::Status ResolveSizes();
  absl::Status CheckLimits();
  absl::Status CompileCode();
  absl::StatusOr<AttentionJob> HeadsJob(const char* q, const char* k,
                                        const char* v) const;

  int64_t head_dim() const { return model_dim / head_count; }
  int64_t row_count() const { return batch_count * token_count; }
  const Scheme& head_scheme() const { return code ? *none : *scheme; }
  // [B, H, T, D]
  Shape head_shape() const {
    return {batch_count, head_count, token_count, head_dim()};
  }
  TensorView HeadView(const char* data) const {
    return {wide_dtype, head_shape(), data};
  }
};

namespace {

absl::Status CheckWeight(absl::string_view name, const TensorView& weight,
                         int64_t dim) {
  const std::string field = absl::StrCat("module.weights.", name);
  if (!IsFloatingPoint(weight.dtype)) {
    return InvalidField(
        absl::StrCat(field, ".dtype"),
        absl::StrCat("is ", NameOf(weight.dtype), "; must be floating point"));
  }
  if (weight.shape != Shape{dim, dim}) {
    return InvalidField(
        absl::StrCat(field, ".shape"),
        absl::StrCat("is ", ToString(weight.shape), "; must be [d_model, ",
                     "d_model] = ", ToString(Shape{dim, dim})));
  }
  return absl::OkStatus();
}

absl::Status CheckWeights(const ModuleWeights& weights, int64_t dim) {
  LOCUS_RETURN_IF_ERROR(CheckWeight("wq", weights.wq, dim));
  LOCUS_RETURN_IF_ERROR(CheckWeight("wk", weights.wk, dim));
  LOCUS_RETURN_IF_ERROR(CheckWeight("wv", weights.wv, dim));
  return CheckWeight("wo", weights.wo, dim);
}

absl::Status CheckX(const TensorView& x) {
  if (!IsFloatingPoint(x.dtype)) {
    return InvalidField("module.x.dtype", absl::StrCat("is ", NameOf(x.dtype),
                                                       "; must be floating "
                                                       "point"));
  }
  if (x.rank() != 3 || x.extent(2) < 1) {
    return InvalidField(
        "module.x.shape",
        absl::StrCat("is ", ToString(x.shape), "; must be [B, T, d_model]"));
  }
  return absl::OkStatus();
}

// Whether two sequences of positions are the same.
bool IsEqual(const Positions& a, const Positions& b) {
  if (a.size() != b.size()) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// Positions of the embeddings x, for a scheme that is added to them.
absl::StatusOr<Positions> EmbeddingPositions(const AttentionOptions& options,
                                             int64_t token_count) {
  if (!options.query_positions && options.key_positions) {
    return InvalidField("options.key_positions",
                        "is set without options.query_positions; an embedding "
                        "has one position, for queries and keys");
  }
  if (!options.query_positions) {
    if (const int64_t offset = options.query_offset.value_or(0); offset != 0) {
      return InvalidField("options.query_offset",
                          absl::StrCat("is ", offset,
                                       "; an embedding has one position, for "
                                       "queries and keys; set "
                                       "options.query_positions"));
    }
    return Positions::Range(0, token_count);
  }
  if (options.query_positions->size() != token_count) {
    return InvalidField(
        "options.query_positions",
        absl::StrCat("has ", options.query_positions->size(),
                     " positions; there are ", token_count, " tokens"));
  }
  if (options.key_positions &&
      !IsEqual(*options.query_positions, *options.key_positions)) {
    return InvalidField("options.key_positions",
                        "differ from options.query_positions; an embedding "
                        "has one position, for queries and keys");
  }
  return *options.query_positions;
}

// One run of a module, computed in type T.
template <typename T, typename Plan>
class ModuleRun {
 public:
  ModuleRun(const Plan& plan, ThreadPool& pool, const CancellationCheck& stop)
      : plan_(plan), pool_(pool), stop_(stop), cancellation_(stop) {}

  absl::StatusOr<AttentionOutputs> Run() {
    if (plan_.row_count() == 0) return RunEmpty();
    std::vector<T> x = Embeddings();
    AddCode(x);
    const ModuleWeights* given =
        plan_.inputs.weights ? &*plan_.inputs.weights : nullptr;
    const std::string q =
        Project(x, Weight("wq", given ? &given->wq : nullptr));
    const std::string k =
        Project(x, Weight("wk", given ? &given->wk : nullptr));
    const std::string v =
        Project(x, Weight("wv", given ? &given->wv : nullptr));
    LOCUS_RETURN_IF_ERROR(cancellation_.status());
    LOCUS_ASSIGN_OR_RETURN(const AttentionJob job,
                           plan_.HeadsJob(q.data(), k.data(), v.data()));
    LOCUS_ASSIGN_OR_RETURN(AttentionOutputs out, job.Run(pool_, stop_));
    const Tensor heads = std::move(out.output);
    out.output = Merge(reinterpret_cast<const T*>(heads.view().data),
                       Weight("wo", given ? &given->wo : nullptr));
    LOCUS_RETURN_IF_ERROR(cancellation_.status());
    return out;
  }

 private:
  // Result of an input without tokens. Its other extents may be huge, so no
  // loop may run over them.
  absl::StatusOr<AttentionOutputs> RunEmpty() {
    LOCUS_ASSIGN_OR_RETURN(AttentionOutputs out,
                           plan_.sized_heads->Run(pool_, stop_));
    out.output = Tensor(
        plan_.dtype, {plan_.batch_count, plan_.token_count, plan_.model_dim});
    return out;
  }

  // Reads or draws the embeddings x, [B * T, d_model].
  std::vector<T> Embeddings() {
    std::vector<T> x(plan_.row_count() * plan_.model_dim);
    if (const auto& given = plan_.inputs.x) {
      ReadRow(given->dtype, given->data, static_cast<int64_t>(x.size()),
              x.data());
      return x;
    }
    for (int64_t t = 0; t < plan_.token_count && !cancellation_.ShouldStop();
         ++t) {
      RandomStream(plan_.inputs.seed,
                   absl::StrCat("module.token/", plan_.inputs.tokens[t]))
          .FillNormal(1, absl::MakeSpan(x.data() + t * plan_.model_dim,
                                        plan_.model_dim));
    }
    return x;
  }

  // Adds the positional code to the embeddings.
  void AddCode(std::vector<T>& x) {
    if (!plan_.code) return;
    std::vector<double> code(plan_.model_dim);
    for (int64_t t = 0; t < plan_.token_count && !cancellation_.ShouldStop();
         ++t) {
      plan_.code->Row(plan_.code_positions[t], absl::MakeSpan(code));
      for (int64_t b = 0; b < plan_.batch_count; ++b) {
        T* const row = &x[(b * plan_.token_count + t) * plan_.model_dim];
        for (int64_t c = 0; c < plan_.model_dim; ++c) {
          row[c] = static_cast<T>(row[c] + code[c]);
        }
      }
    }
  }

  // Reads a projection matrix, or draws it from the seed if `given` is null.
  Matrix<T> Weight(absl::string_view name, const TensorView* given) {
    Matrix<T> weight(plan_.model_dim, plan_.model_dim);
    if (given != nullptr) {
      ReadRow(given->dtype, given->data, weight.size(), weight.data());
    } else {
      RandomStream stream(plan_.inputs.seed, absl::StrCat("module.", name));
      const double deviation =
          1 / std::sqrt(static_cast<double>(plan_.model_dim));
      for (int64_t n = 0; n < weight.rows() && !cancellation_.ShouldStop();
           ++n) {
        stream.FillNormal(deviation,
                          absl::MakeSpan(&weight(n, 0), weight.cols()));
      }
    }
    return weight;
  }

  // Multiplies the rows of `left` by `right` in parallel, kRowsPerStep rows at
  // a time, and calls consume(first_row, product) for each step.
  template <typename Consume>
  void MultiplyRows(const T* left, const Matrix<T>& right,
                    const Consume& consume) {
    const int64_t row_count = plan_.row_count();
    pool_.ParallelFor(
        (row_count + kRowsPerStep - 1) / kRowsPerStep, [&](int64_t step) {
          if (cancellation_.ShouldStop()) return;
          const int64_t first = step * kRowsPerStep;
          const int64_t count = std::min(kRowsPerStep, row_count - first);
          const Matrix<T> product =
              MatrixView<T>(left + first * right.rows(), count, right.rows()) *
              right;
          consume(first, product);
        });
  }

  // Returns x times weight as the bytes of a tensor [B, H, T, D].
  std::string Project(const std::vector<T>& x, const Matrix<T>& weight) {
    std::string bytes(x.size() * sizeof(T), '\0');
    T* const heads = reinterpret_cast<T*>(bytes.data());
    const int64_t dim = plan_.head_dim();
    MultiplyRows(
        x.data(), weight, [&](int64_t first, const Matrix<T>& product) {
          for (int64_t n = 0; n < product.rows(); ++n) {
            const int64_t b = (first + n) / plan_.token_count;
            const int64_t t = (first + n) % plan_.token_count;
            for (int64_t h = 0; h < plan_.head_count; ++h) {
              std::copy_n(
                  &product(n, h * dim), dim,
                  heads + ((b * plan_.head_count + h) * plan_.token_count + t) *
                              dim);
            }
          }
        });
    return bytes;
  }

  // Concatenates heads, [B, H, T, D], to [B, T, H D], multiplies by weight and
  // converts to the type of the inputs.
  Tensor Merge(const T* heads, const Matrix<T>& weight) {
    const int64_t dim = plan_.head_dim();
    std::vector<T> merged(plan_.row_count() * plan_.model_dim);
    for (int64_t row = 0; row < plan_.row_count(); ++row) {
      const int64_t b = row / plan_.token_count;
      const int64_t t = row % plan_.token_count;
      for (int64_t h = 0; h < plan_.head_count; ++h) {
        std::copy_n(
            heads + ((b * plan_.head_count + h) * plan_.token_count + t) * dim,
            dim, &merged[row * plan_.model_dim + h * dim]);
      }
    }
    Tensor output(plan_.dtype,
                  {plan_.batch_count, plan_.token_count, plan_.model_dim});
    MultiplyRows(merged.data(), weight,
                 [&](int64_t first, const Matrix<T>& product) {
                   WriteRow(plan_.dtype, product.data(), product.size(),
                            output.at(first * plan_.model_dim));
                 });
    return output;
  }

  const Plan& plan_;
  ThreadPool& pool_;
  const CancellationCheck& stop_;
  CancellationState cancellation_;
};

}  // namespace

ModuleJob::ModuleJob(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
ModuleJob::ModuleJob(ModuleJob&&) noexcept = default;
ModuleJob& ModuleJob::operator=(ModuleJob&&) noexcept = default;
ModuleJob::~ModuleJob() = default;

absl::Status ModuleJob::Plan::ResolveSizes() {
  if (inputs.x) {
    LOCUS_RETURN_IF_ERROR(CheckX(*inputs.x));
    batch_count = inputs.x->extent(0);
    token_count = inputs.x->extent(1);
    model_dim = inputs.x->extent(2);
    dtype = inputs.x->dtype;
    if (inputs.dim != 0 && inputs.dim != model_dim) {
      return InvalidField(
          "module.dim",
          absl::StrCat("is ", inputs.dim, "; module.x has ", model_dim));
    }
  } else {
    token_count = static_cast<int64_t>(inputs.tokens.size());
    model_dim = inputs.dim == 0 ? kDefaultDim : inputs.dim;
  }
  wide_dtype = dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  head_count = inputs.head_count == 0 ? 1 : inputs.head_count;
  if (model_dim < 1) {
    return InvalidField("module.dim",
                        absl::StrCat("is ", model_dim, "; must be at least 1"));
  }
  if (head_count < 1 || model_dim % head_count != 0) {
    return InvalidField(
        "module.head_count",
        absl::StrCat("is ", head_count,
                     "; must be positive and divide d_model = ", model_dim));
  }
  return absl::OkStatus();
}

absl::Status ModuleJob::Plan::CheckLimits() {
  const absl::string_view width = inputs.x ? "module.x.shape" : "module.dim";
  if (head_dim() > kMaxDim) {
    return LimitExceeded(width, "max_dim",
                         absl::StrCat("makes the head dimension ", head_dim(),
                                      "; the maximum is ", kMaxDim));
  }
  if (!inputs.weights && model_dim > kMaxDrawnDim) {
    return LimitExceeded(width, "max_drawn_dim",
                         absl::StrCat("makes d_model ", model_dim,
                                      "; random weights are limited to ",
                                      kMaxDrawnDim, "; set module.weights"));
  }
  // Arrays of rows (x, q, k, v, merged heads, output) and four weights.
  const int64_t element = SizeOf(wide_dtype);
  const auto rows =
      CheckedProduct({batch_count, token_count, model_dim, element, 6});
  const auto weights = CheckedProduct({model_dim, model_dim, element, 4});
  const auto bytes =
      rows && weights ? CheckedAdd(*rows, *weights) : std::nullopt;
  if (!bytes) {
    return LimitExceeded(width, "memory_budget_bytes",
                         absl::StrCat("makes d_model ", model_dim,
                                      "; the layer does not fit into memory"));
  }
  own_scratch_bytes = *bytes;
  return absl::OkStatus();
}

absl::Status ModuleJob::Plan::CompileCode() {
  if (scheme->site() != Site::kEmbeddings) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(code_positions,
                         EmbeddingPositions(options, token_count));
  Positions no_keys;
  LOCUS_RETURN_IF_ERROR(scheme->RandomizePositions(&code_positions, &no_keys));
  LOCUS_ASSIGN_OR_RETURN(
      CompiledScheme compiled,
      scheme->Compile({.dim = model_dim,
                       .max_position = code_positions.max(),
                       .min_position = code_positions.min()}));
  code = std::get<std::unique_ptr<AdditiveCode>>(std::move(compiled));
  LOCUS_ASSIGN_OR_RETURN(none, MakeScheme(*FindScheme("none"), {}));
  return absl::OkStatus();
}

absl::StatusOr<AttentionJob> ModuleJob::Plan::HeadsJob(const char* q,
                                                       const char* k,
                                                       const char* v) const {
  return AttentionJob::Create(head_scheme(),
                              {HeadView(q), HeadView(k), HeadView(v)}, options);
}

absl::StatusOr<ModuleJob> ModuleJob::Create(const Scheme& scheme,
                                            ModuleInputs inputs,
                                            AttentionOptions options) {
  auto plan = std::make_unique<Plan>();
  plan->scheme = &scheme;
  plan->inputs = std::move(inputs);
  plan->options = std::move(options);
  LOCUS_RETURN_IF_ERROR(plan->ResolveSizes());
  LOCUS_RETURN_IF_ERROR(plan->CheckLimits());
  if (plan->inputs.weights) {
    LOCUS_RETURN_IF_ERROR(CheckWeights(*plan->inputs.weights, plan->model_dim));
  }
  LOCUS_RETURN_IF_ERROR(plan->CompileCode());
  // Validates the options. Run() creates the job that has data.
  LOCUS_ASSIGN_OR_RETURN(plan->sized_heads,
                         plan->HeadsJob(nullptr, nullptr, nullptr));
  return ModuleJob(std::move(plan));
}

// The output of the heads has the same number of elements as that of the layer,
// and a type that is at least as wide.
int64_t ModuleJob::output_bytes() const {
  return plan_->sized_heads->output_bytes();
}

int64_t ModuleJob::scratch_bytes(int thread_count) const {
  return CheckedAdd(plan_->own_scratch_bytes,
                    plan_->sized_heads->scratch_bytes(thread_count))
      .value_or(std::numeric_limits<int64_t>::max());
}

double ModuleJob::flops() const {
  const double dim = static_cast<double>(plan_->model_dim);
  return plan_->sized_heads->flops() +
         8 * static_cast<double>(plan_->batch_count) *
             static_cast<double>(plan_->token_count) * dim * dim;
}

absl::StatusOr<AttentionOutputs> ModuleJob::Run(
    ThreadPool& pool, const CancellationCheck& stop) const {
  if (plan_->wide_dtype == DType::kFloat64) {
    return ModuleRun<double, Plan>(*plan_, pool, stop).Run();
  }
  return ModuleRun<float, Plan>(*plan_, pool, stop).Run();
}

}  // namespace locus
