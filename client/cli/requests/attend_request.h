// Converts the flags of `locus attend` into a request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/requests/scheme_flags.h"
#include "locus/v1/attention.pb.h"

namespace locus::client {

// The flags of `locus attend`. Strings that hold file names, lists or words are
// empty if the flag is not given.
struct AttendFlags {
  SchemeFlags scheme;
  // The input: either q, k and v, or x, or tokens.
  std::string q, k, v;
  std::string x;
  std::string tokens;

  std::optional<int64_t> head_count;
  std::optional<int64_t> dim;
  std::optional<uint64_t> seed;
  std::string weights_from;
  std::string wq, wk, wv, wo;
  std::string dtype;

  bool causal = false;
  bool bottom_right = false;
  std::optional<int64_t> query_offset;
  int64_t window = 0;
  std::optional<double> scale;
  double softcap = 0;
  std::string mask;
  std::string query_positions;
  std::string key_positions;
  bool return_weights = false;
  bool return_log_sum_exp = false;
};

// A request, and how to undo the reshaping of its inputs.
struct AttendPlan {
  v1::AttendRequest request;
  // The number of leading axes of extent 1 that were added to the inputs. The
  // same number must be removed from the outputs with RemoveAddedAxes().
  int added_axes = 0;
  // "(dim 128, 32 heads from llama31.json)" for sizes of the layer that come
  // from a configuration; otherwise empty.
  std::string sizes_note;
};

// Returns a usage error if flags conflict or a file cannot be read.
absl::StatusOr<AttendPlan> MakeAttendPlan(const AttendFlags& flags);

// Removes up to `count` leading axes of extent 1. Stops at the first axis of
// another extent, because the shape comes from the server and is not trusted.
void RemoveAddedAxes(int count, v1::Tensor* tensor);

}  // namespace locus::client
