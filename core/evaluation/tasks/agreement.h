// The task `agreement`: inflect an English verb to agree with its subject
// across distracting clauses.
//
//   yesterday , told to work , he - now I am singing , soon you will sing ;
//   well always Anna walks , already I have walked - [worked]
//
// There are 20 verbs, 5 tenses (simple present, past, future, progressive,
// perfect) and 3 persons. The opening states the tense by a time adverb, the
// verb by its base form, and the subject. Clauses with other verbs follow. The
// target, at the final dash, is the form for the subject, tense and verb of the
// opening; this position is called the slot. The distance from subject to slot
// is the length minus seven tokens. A form is one token, with its auxiliary
// verb ("will sing"). The base form is also the present form of the first and
// second person.
//
// The distracting clauses come in groups with a common verb, so that the form
// in all but the first clause of a group follows from nearby words. In
// training, up to three of these forms are targets, too, through which the
// model sees all verbs in all forms. One subject after a time adverb is also a
// target, through which the model learns how a clause begins. Five verbs are
// held out: at the slot they are trained in the past and the future only, whose
// forms are the same for all persons, and tested in the other three tenses.
// held_out_accuracy shows whether the model learned a rule.
//
// Metrics:
//
//   accuracy           share of slots, over the 15 trained verbs, at which the
//                      correct form is the most likely token. A model that
//                      knows tense and verb, but not the person, has an
//                      accuracy of 0.73. Chance is one of the 180 forms.
//   pair_accuracy      share of slots at which the correct form is more likely
//                      than those of the other persons, such as P(he works) >
//                      P(he work), over tenses whose forms differ by person.
//                      The compared forms differ in agreement only.
//   held_out_accuracy  accuracy over the held-out verbs
//   order_accuracy     share of pairs with P(he works) > P(works he)
//
// The pairs for order_accuracy are additional sequences of the same length, a
// quarter as many as the others: opening, clauses and the opening's time
// adverb, followed by subject and form in either order. The probabilities of
// the two tokens are multiplied. The order with the subject first must be more
// likely; ties count as wrong. This metric is a sanity check rather than a
// comparison: a model that has learned how clauses begin predicts a subject
// after a time adverb without any positions and at any distance. A value below
// 1 means that even the nearest words are lost.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/training/task.h"

namespace locus {

std::unique_ptr<Task> MakeAgreementTask();

// Returns the words of a sentence.
std::string AgreementText(absl::Span<const int32_t> tokens);

// Returns true if the token is a form of a held-out verb.
bool IsHeldOutForm(int32_t token);

}  // namespace locus
