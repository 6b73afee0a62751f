#include "client/cli/requests/float_type.h"

#include "absl/strings/str_cat.h"
#include "client/cli/support/cli_errors.h"
#include "locus/client/tensor.h"

namespace locus::client {

absl::StatusOr<v1::DataType> ParseFloatType(const std::string& name) {
  const absl::StatusOr<v1::DataType> type = ParseDataType(name);
  if (!type.ok() || *type == v1::DATA_TYPE_INT64 ||
      *type == v1::DATA_TYPE_BOOL) {
    return UsageError(
        absl::StrCat("--dtype: is \"", name,
                     "\"; must be float32, float64, float16 or bfloat16"));
  }
  return *type;
}

}  // namespace locus::client
