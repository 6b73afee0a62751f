#include "core/attention/module.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Core>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/encoding/schemes.h"

namespace locus {
namespace {

constexpr int64_t kDefaultDim = 64;
// Rows of x that one thread takes at a time; fixed, so that results do not
// depend on the number of threads.
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
  // Added to x, for a scheme that acts on embeddings.
  std::unique_ptr<AdditiveCode> code;
  Positions code_positions;
  // What the heads see: the scheme, or none if it is in x already.
  std::unique_ptr<Scheme> none;
  int64_t output_bytes = 0;
  int64_t scratch_bytes = 0;
  double flops = 0;

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
bool Same(const Positions& a, const Positions& b) {
  if (a.size() != b.size()) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// The tokens of a module are both queries and keys: positions given for one
// hold for the other.
void ShareCommonPositions(AttentionOptions& options) {
  if (!options.query_positions) {
    options.query_positions = options.key_positions;
  }
  if (!options.key_positions) options.key_positions = options.query_positions;
}

// Where x stands, for a scheme that is added to it.
absl::StatusOr<Positions> EmbeddingPositions(const AttentionOptions& options,
                                             int64_t token_count) {
  if (!options.query_positions) {
    if (options.query_offset != 0) {
      return InvalidField("options.query_offset",
                          absl::StrCat("is ", options.query_offset,
                                       "; embeddings stand at one position "
                                       "each: give options.query_positions"));
    }
    return Positions::Range(0, token_count);
  }
  if (options.query_positions->size() != token_count) {
    return InvalidField(
        "options.query_positions",
        absl::StrCat("has ", options.query_positions->size(),
                     " positions; there are ", token_count, " tokens"));
  }
  if (!Same(*options.query_positions, *options.key_positions)) {
    return InvalidField("options.key_positions",
                        "differ from options.query_positions; embeddings "
                        "stand at one position each");
  }
  return *options.query_positions;
}

// Rows of `left` times `right`, a few rows at a time, each given to
// consume(first_row, product).
template <typename T, typename Consume>
void MultiplyRows(const T* left, int64_t row_count, const Matrix<T>& right,
                  ThreadPool& pool, const Consume& consume) {
  pool.ParallelFor(
      (row_count + kRowsPerStep - 1) / kRowsPerStep, [&](int64_t step) {
        const int64_t first = step * kRowsPerStep;
        const int64_t count = std::min(kRowsPerStep, row_count - first);
        const Matrix<T> product =
            MatrixView<T>(left + first * right.rows(), count, right.rows()) *
            right;
        consume(first, product);
      });
}

// Runs one module in float or double.
template <typename T, typename Plan>
class ModuleRun {
 public:
  ModuleRun(const Plan& plan, ThreadPool& pool, const StopCheck& stop)
      : plan_(plan), pool_(pool), stop_(stop) {}

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
    LOCUS_RETURN_IF_ERROR(StopStatus());
    LOCUS_ASSIGN_OR_RETURN(const AttentionJob job,
                           AttentionJob::Create(plan_.head_scheme(),
                                                {plan_.HeadView(q.data()),
                                                 plan_.HeadView(k.data()),
                                                 plan_.HeadView(v.data())},
                                                plan_.options));
    LOCUS_ASSIGN_OR_RETURN(AttentionOutputs out, job.Run(pool_, stop_));
    const std::string heads = out.output.TakeBytes();
    out.output = Merge(reinterpret_cast<const T*>(heads.data()),
                       Weight("wo", given ? &given->wo : nullptr));
    return out;
  }

 private:
  // Without tokens, extents need not be backed by bytes: loop over none of
  // them.
  absl::StatusOr<AttentionOutputs> RunEmpty() {
    const TensorView heads = plan_.HeadView(nullptr);
    LOCUS_ASSIGN_OR_RETURN(
        const AttentionJob job,
        AttentionJob::Create(plan_.head_scheme(), {heads, heads, heads},
                             plan_.options));
    LOCUS_ASSIGN_OR_RETURN(AttentionOutputs out, job.Run(pool_, stop_));
    out.output = Tensor(
        plan_.dtype, {plan_.batch_count, plan_.token_count, plan_.model_dim});
    return out;
  }

  absl::Status StopStatus() const { return stop_ ? stop_() : absl::OkStatus(); }

  // [B * T, d_model]
  std::vector<T> Embeddings() const {
    std::vector<T> x(plan_.row_count() * plan_.model_dim);
    if (const auto& given = plan_.inputs.x) {
      ReadRow(given->dtype, given->data, static_cast<int64_t>(x.size()),
              x.data());
      return x;
    }
    for (int64_t t = 0; t < plan_.token_count; ++t) {
      RandomStream(plan_.inputs.seed,
                   absl::StrCat("module.token/", plan_.inputs.tokens[t]))
          .FillNormal(1, absl::MakeSpan(x.data() + t * plan_.model_dim,
                                        plan_.model_dim));
    }
    return x;
  }

  void AddCode(std::vector<T>& x) const {
    if (!plan_.code) return;
    std::vector<double> code(plan_.model_dim);
    for (int64_t t = 0; t < plan_.token_count; ++t) {
      plan_.code->Row(plan_.code_positions[t], absl::MakeSpan(code));
      for (int64_t b = 0; b < plan_.batch_count; ++b) {
        T* const row = &x[(b * plan_.token_count + t) * plan_.model_dim];
        for (int64_t c = 0; c < plan_.model_dim; ++c) {
          row[c] = static_cast<T>(row[c] + code[c]);
        }
      }
    }
  }

  Matrix<T> Weight(absl::string_view name, const TensorView* given) const {
    Matrix<T> weight(plan_.model_dim, plan_.model_dim);
    if (given != nullptr) {
      ReadRow(given->dtype, given->data, weight.size(), weight.data());
    } else {
      RandomStream(plan_.inputs.seed, absl::StrCat("module.", name))
          .FillNormal(1 / std::sqrt(static_cast<double>(plan_.model_dim)),
                      absl::MakeSpan(weight.data(), weight.size()));
    }
    return weight;
  }

  // x times weight, as the bytes of a tensor [B, H, T, D].
  std::string Project(const std::vector<T>& x, const Matrix<T>& weight) const {
    std::string bytes(x.size() * sizeof(T), '\0');
    T* const heads = reinterpret_cast<T*>(bytes.data());
    const int64_t dim = plan_.head_dim();
    MultiplyRows<T>(
        x.data(), plan_.row_count(), weight, pool_,
        [&](int64_t first, const Matrix<T>& product) {
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

  // heads [B, H, T, D] -> [B, T, H D] times weight, in the inputs' type.
  Tensor Merge(const T* heads, const Matrix<T>& weight) const {
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
    MultiplyRows<T>(merged.data(), plan_.row_count(), weight, pool_,
                    [&](int64_t first, const Matrix<T>& product) {
                      WriteRow(plan_.dtype, product.data(), product.size(),
                               output.at(first * plan_.model_dim));
                    });
    return output;
  }

  const Plan& plan_;
  ThreadPool& pool_;
  const StopCheck& stop_;
};

}  // namespace

ModuleJob::ModuleJob(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
ModuleJob::ModuleJob(ModuleJob&&) noexcept = default;
ModuleJob& ModuleJob::operator=(ModuleJob&&) noexcept = default;
ModuleJob::~ModuleJob() = default;

absl::StatusOr<ModuleJob> ModuleJob::Create(const Scheme& scheme,
                                            ModuleInputs inputs,
                                            AttentionOptions options) {
  auto plan = std::make_unique<Plan>();
  plan->scheme = &scheme;
  if (inputs.x) {
    LOCUS_RETURN_IF_ERROR(CheckX(*inputs.x));
    plan->batch_count = inputs.x->extent(0);
    plan->token_count = inputs.x->extent(1);
    plan->model_dim = inputs.x->extent(2);
    plan->dtype = inputs.x->dtype;
    if (inputs.dim != 0 && inputs.dim != plan->model_dim) {
      return InvalidField(
          "module.dim",
          absl::StrCat("is ", inputs.dim, "; module.x has ", plan->model_dim));
    }
  } else {
    plan->token_count = static_cast<int64_t>(inputs.tokens.size());
    plan->model_dim = inputs.dim == 0 ? kDefaultDim : inputs.dim;
  }
  plan->wide_dtype =
      plan->dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  plan->head_count = inputs.head_count == 0 ? 1 : inputs.head_count;
  if (plan->model_dim < 1) {
    return InvalidField("module.dim", absl::StrCat("is ", plan->model_dim,
                                                   "; must be at least 1"));
  }
  if (plan->head_count < 1 || plan->model_dim % plan->head_count != 0) {
    return InvalidField("module.head_count",
                        absl::StrCat("is ", plan->head_count,
                                     "; must be positive and divide d_model = ",
                                     plan->model_dim));
  }
  if (plan->model_dim / plan->head_count > kMaxDim) {
    return LimitExceeded(
        inputs.x ? "module.x.shape" : "module.dim", "max_dim",
        absl::StrCat("makes heads of ", plan->model_dim / plan->head_count,
                     " channels; at most ", kMaxDim, " are served"));
  }
  if (inputs.weights) {
    LOCUS_RETURN_IF_ERROR(CheckWeights(*inputs.weights, plan->model_dim));
  }

  // Everything that is allocated, before any of it is.
  const int64_t element = SizeOf(plan->wide_dtype);
  const auto rows = CheckedProduct(
      {plan->batch_count, plan->token_count, plan->model_dim, element, 6});
  const auto weights =
      CheckedProduct({plan->model_dim, plan->model_dim, element, 4});
  if (!rows || !weights || !CheckedAdd(*rows, *weights)) {
    return LimitExceeded("module.dim", "memory_budget_bytes",
                         absl::StrCat("is ", plan->model_dim,
                                      "; the layer does not fit into memory"));
  }

  ShareCommonPositions(options);
  if (scheme.site() == Site::kEmbeddings) {
    LOCUS_ASSIGN_OR_RETURN(plan->code_positions,
                           EmbeddingPositions(options, plan->token_count));
    LOCUS_ASSIGN_OR_RETURN(
        CompiledScheme compiled,
        scheme.Compile({.dim = plan->model_dim,
                        .max_position = plan->code_positions.max()}));
    plan->code = std::get<std::unique_ptr<AdditiveCode>>(std::move(compiled));
    LOCUS_ASSIGN_OR_RETURN(plan->none, MakeScheme(*FindScheme("none"), {}));
  }
  plan->inputs = std::move(inputs);
  plan->options = std::move(options);

  const TensorView heads = plan->HeadView(nullptr);
  LOCUS_ASSIGN_OR_RETURN(
      const AttentionJob job,
      AttentionJob::Create(plan->head_scheme(), {heads, heads, heads},
                           plan->options));
  plan->output_bytes = job.output_bytes();
  const auto scratch = CheckedAdd(*rows + *weights, job.scratch_bytes());
  if (!scratch) {
    return LimitExceeded("module.dim", "memory_budget_bytes",
                         "makes a layer that does not fit into memory");
  }
  plan->scratch_bytes = *scratch;
  const double dim = static_cast<double>(plan->model_dim);
  plan->flops = job.flops() + 8 * static_cast<double>(plan->batch_count) *
                                  static_cast<double>(plan->token_count) * dim *
                                  dim;
  return ModuleJob(std::move(plan));
}

int64_t ModuleJob::output_bytes() const { return plan_->output_bytes; }
int64_t ModuleJob::scratch_bytes() const { return plan_->scratch_bytes; }
double ModuleJob::flops() const { return plan_->flops; }

absl::StatusOr<AttentionOutputs> ModuleJob::Run(ThreadPool& pool,
                                                const StopCheck& stop) const {
  if (plan_->wide_dtype == DType::kFloat64) {
    return ModuleRun<double, Plan>(*plan_, pool, stop).Run();
  }
  return ModuleRun<float, Plan>(*plan_, pool, stop).Run();
}

}  // namespace locus
