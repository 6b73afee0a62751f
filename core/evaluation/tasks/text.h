// The next byte of a text.
//
// A byte-level language model of the user's own text, or of a built-in one. The
// last tenth of a text is for tests and never trained on. A training example is
// a window at a random place, with every next byte as a target.
//
// A test scores the same bytes at every length. Its windows end at the same
// places, evenly spread over the second half of the held-out part, and go as
// far back as the length says; `nll` is taken over the last bytes of each
// window: 32 of them, or half the training length if that is less. (Windows cut
// at the same starts, scored throughout, would flatter long ones: a smaller
// share of their bytes has little context.) Hence half of the held-out part, a
// twentieth of the text, is the longest length. Only a test that is shorter
// than the bytes it should score scores fewer. Tests are the same for all
// seeds.
//
// Metrics: nll in nats per byte and bits_per_byte. Beyond the training length L
// some windows are also scored at all positions: nll_bucket_0_L,
// nll_bucket_L_2L, nll_bucket_2L_4L and so on, with numbers for L, by the
// position of the byte that is read; and drift, the last of these less the
// first. Unlike nll these compare different bytes.
//
// Learned means an nll of at most 0.9 times the entropy of single bytes in the
// training part: what a model gets that knows their frequencies, less a tenth.
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

// An empty corpus means the built-in one. Errors name the field `text.corpus`.
absl::StatusOr<std::unique_ptr<Task>> MakeTextTask(std::string corpus);

// The same for models that are trained once and tested with other schemes: what
// a scaling does to a model that never saw it. Errors name `retrofit.corpus`.
absl::StatusOr<std::unique_ptr<Task>> MakeRetrofitTask(std::string corpus);

// The entropy of the distribution of single bytes, in nats.
double ByteEntropy(absl::string_view text);

}  // namespace locus
