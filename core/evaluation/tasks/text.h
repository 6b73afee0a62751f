// The task `text`: predict the next byte of a text.
//
// A byte-level language model of the user's text or of the built-in corpus. The
// last tenth of the text is held out for tests. A training example is a window
// at a random place, with every next byte as a target.
//
// A test scores the same bytes at every length. Its windows end at the same
// places, evenly spaced over the second half of the held-out part, and extend
// backwards by the length. `nll` is taken over the last bytes of each window:
// 32, or half the training length if that is less, or the whole window if that
// is shorter. (If windows began at the same places and were scored throughout,
// long ones would have an advantage, since a smaller share of their bytes has
// little context.) The largest length is therefore half of the held-out part, a
// twentieth of the text. Tests are the same for all seeds.
//
// Metrics: nll, in nats per byte, and bits_per_byte. Beyond the training length
// L, some windows are also scored at all positions: nll_bucket_0_L,
// nll_bucket_L_2L, nll_bucket_2L_4L and so on (with the value of L) average by
// the position of the byte that is read, and drift is the last bucket minus the
// first. Unlike nll, buckets compare different bytes.
//
// The task is learned at an nll of at most 0.9 times the entropy of single
// bytes in the training part, which is the nll of a model that knows only the
// byte frequencies. That entropy is also the chance level of the task.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/training/task.h"

namespace locus {

inline constexpr int64_t kMinCorpusBytes = 4096;
inline constexpr int64_t kMaxCorpusBytes = int64_t{4} << 20;

// An empty corpus means the built-in corpus. Errors name the field
// `text.corpus`.
absl::StatusOr<std::unique_ptr<Task>> MakeTextTask(std::string corpus);

// The task `retrofit`: like `text`, but one model per seed is trained and then
// tested with all schemes. This measures RoPE scalings without fine-tuning.
// Errors name the field `retrofit.corpus`.
absl::StatusOr<std::unique_ptr<Task>> MakeRetrofitTask(std::string corpus);

// Entropy of the distribution of single bytes, in nats.
double ByteEntropy(absl::string_view text);

}  // namespace locus
