// What `locus attend` asks for: flags turned into a request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/requests/scheme_flags.h"
#include "locus/v1/attention.pb.h"

namespace locus::client {

struct AttendFlags {
  SchemeFlags scheme;
  // One of the three.
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

struct AttendPlan {
  v1::AttendRequest request;
  // How many leading axes of 1 the inputs were given to make them whole; the
  // same number is taken from what comes back.
  int added_axes = 0;
};

// A usage error if flags do not go together or a file cannot be read.
absl::StatusOr<AttendPlan> MakeAttendPlan(const AttendFlags& flags);

// Takes the added axes away. The tensor may have been made by a server that
// does as it likes, so axes other than 1 stay.
void RemoveAddedAxes(int count, v1::Tensor* tensor);

}  // namespace locus::client
