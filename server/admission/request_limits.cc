#include "server/admission/request_limits.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/shape.h"
#include "core/base/status.h"

namespace locus::server {
namespace {

// Which axes of a tensor are positions and heads, counted from the last axis; 0
// if the tensor has no such axis.
struct Axes {
  int length = 0;
  int heads = 0;
};

class Checker {
 public:
  explicit Checker(const ServerOptions& limits) : limits_(limits) {}

  void Tensor(const std::string& field, const v1::Tensor& tensor,
              const Axes& axes = {}) {
    int64_t elements = 1;
    for (const int64_t extent : tensor.shape()) {
      // Negative extents and overflows were rejected earlier.
      elements = CheckedMul(elements, extent).value_or(0);
    }
    Check(absl::StrCat(field, ".shape"), "elements", elements, "max_elements",
          limits_.max_elements);
    Length(absl::StrCat(field, ".shape"), Extent(tensor, axes.length));
    Heads(absl::StrCat(field, ".shape"), Extent(tensor, axes.heads));
  }

  // Checks every tensor in `message`, including tables of schemes and weights
  // of modules. `path` is the field path of the message, empty for the request.
  void Tensors(const std::string& path,
               const google::protobuf::Message& message) {
    if (message.GetDescriptor() == v1::Tensor::descriptor()) {
      Tensor(path, static_cast<const v1::Tensor&>(message));
      return;
    }
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const auto* field : fields) {
      if (field->message_type() == nullptr || field->is_map()) continue;
      const std::string name =
          absl::StrCat(path, path.empty() ? "" : ".", field->name());
      if (!field->is_repeated()) {
        Tensors(name, reflection.GetMessage(message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        Tensors(absl::StrCat(name, "[", i, "]"),
                reflection.GetRepeatedMessage(message, field, i));
      }
    }
  }

  void Positions(const std::string& field, const v1::Positions& positions) {
    Length(field, positions.has_range() ? positions.range().count()
                                        : positions.ids().ids_size());
  }

  void Length(const std::string& field, int64_t length) {
    Check(field, "positions", length, "max_length", limits_.max_length);
  }

  void Heads(const std::string& field, int64_t heads) {
    Check(field, "heads", heads, "max_heads", limits_.max_heads);
  }

  const absl::Status& status() const { return status_; }

 private:
  static int64_t Extent(const v1::Tensor& tensor, int from_last) {
    if (from_last == 0 || tensor.shape_size() < from_last) return 0;
    return tensor.shape(tensor.shape_size() - from_last);
  }

  void Check(const std::string& field, const char* what, int64_t value,
             const char* limit, int64_t max) {
    if (!status_.ok() || value <= max) return;
    status_ = LimitExceeded(
        field, limit,
        absl::StrCat("has ", value, " ", what, "; ", limit, " is ", max));
  }

  const ServerOptions& limits_;
  absl::Status status_;
};

}  // namespace

absl::Status CheckLimits(const ServerOptions& limits,
                         const v1::EncodeRequest& request, bool on_scores) {
  Checker checker(limits);
  checker.Positions("positions", request.positions());
  checker.Positions("key_positions", request.key_positions());
  checker.Heads("head_count", request.head_count());
  checker.Tensor("input", request.input(),
                 {.length = 2, .heads = on_scores ? 3 : 0});
  if (on_scores) checker.Tensor("input", request.input(), {.length = 1});
  checker.Tensors("", request);
  return checker.status();
}

absl::Status CheckLimits(const ServerOptions& limits,
                         const v1::AttendRequest& request) {
  Checker checker(limits);
  const v1::AttentionHeads& heads = request.heads();
  checker.Tensor("heads.q", heads.q(), {.length = 2, .heads = 3});
  checker.Tensor("heads.k", heads.k(), {.length = 2, .heads = 3});
  checker.Tensor("heads.v", heads.v(), {.length = 2, .heads = 3});
  const v1::AttentionModule& module = request.module();
  checker.Tensor("module.x", module.x(), {.length = 2});
  checker.Length("module.tokens", module.tokens_size());
  checker.Heads("module.head_count", module.head_count());
  const v1::AttentionOptions& options = request.options();
  checker.Positions("options.query_positions", options.query_positions());
  checker.Positions("options.key_positions", options.key_positions());
  checker.Tensors("", request);
  return checker.status();
}

absl::Status CheckTensors(const ServerOptions& limits,
                          const google::protobuf::Message& request) {
  Checker checker(limits);
  checker.Tensors("", request);
  return checker.status();
}

}  // namespace locus::server
