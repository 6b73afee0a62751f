// The task `ordering`: classify whether a sequence is in ascending order.
//
//   2 3 3 7 ?   target yes        2 3 7 3 ?   target no
//
// Values are tokens. The answer is read at the final query token; a mean over
// the sequence would make all schemes alike. Examples are matched pairs of a
// sorted sequence and the same values in another order. Half of the pairs
// differ by one swap of two different neighbours (hard), half by a random
// permutation (easy). A bidirectional model without positions gives both
// members of a pair the same answer and is correct in exactly half of the
// cases, which serves as a check of the whole pipeline. A model that recognises
// the easy permutations only has a balanced accuracy of 0.75.
//
// A sequence has 4 to 6 distinct values out of 8 (fewer if it is shorter). They
// are drawn alike at every length, so that from six values on neither their
// gaps nor their range depend on the length; only the number of repetitions
// grows. More values take more steps to learn. With fewer than 4 there would be
// so few sorted sequences that tests repeat the training data.
//
// A symmetric bias distinguishes neighbours from other tokens, but not the
// order of two neighbours; only the query token at the end breaks the symmetry.
//
// The default training length is 4 tokens, which all schemes with positions
// learn; at 5, 6 and 8 tokens they differ. At 32 tokens, most schemes do not
// learn the task within the default number of steps.
//
// A test consists of whole pairs. A training batch of odd size ends with one
// member of a pair.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/training/task.h"

namespace locus {

// Tokens 0 .. 7 are values.
inline constexpr int32_t kOrderingValueCount = 8;
inline constexpr int32_t kOrderingQuery = 8;
inline constexpr int32_t kOrderingYes = 9;
inline constexpr int32_t kOrderingNo = 10;

std::unique_ptr<Task> MakeOrderingTask();

// Checks a sequence about which trained models are asked: at least two values,
// at most max_length tokens with the query token. Field paths in errors are
// relative to OrderingSequence, such as `values[2]`.
absl::Status CheckOrderingQuestion(absl::Span<const int64_t> values,
                                   int64_t max_length);

// Makes the example of a sequence that CheckOrderingQuestion() accepted.
Example MakeOrderingQuestion(absl::Span<const int64_t> values);

// Probability of `yes` according to the logits of the query token
// [vocabulary_size], if the answer is either yes or no. 0.5 if a logit is NaN.
double SortedProbability(absl::Span<const float> logits);

}  // namespace locus
