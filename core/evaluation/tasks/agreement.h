// English verbs agree with their subjects across clauses that distract.
//
//   yesterday , told to work , he - now I am singing , soon you will sing ;
//   well always Anna walks , already I have walked - [worked]
//
// 20 verbs, 5 tenses (simple present, past, future, progressive, perfect) and 3
// persons. The opening gives the tense by a word of time, the verb by its base
// form, and the subject; then come clauses of other verbs, and after the second
// dash stands the slot: the form for this subject, this tense and this verb.
// From subject to slot is the whole length less seven tokens. A form is one
// token, its auxiliary included ("will sing"), and a base form is also that of
// the first and second person present.
//
// The clauses between come in groups of one verb, so that in all but the first
// clause of a group the form follows from what stands near. In training up to
// three of those are targets too: that is where the model meets all verbs in
// all forms. After one of their words of time the subject is a target as well,
// from which the model knows how a clause begins. Five verbs are held out: at
// the slot they are trained in the past and the future alone, whose forms are
// the same for all persons, and tested in the three tenses that agree.
// held_out_accuracy says whether what was learned is a rule.
//
// Metrics: accuracy over the 15 trained verbs, the right form being the most
// likely token; pair_accuracy, where forms of the verb in this tense differ by
// person: P(he works) > P(he work), the right form more likely than all of the
// other persons. Both words of such a pair are in the vocabulary at the same
// place, so that the comparison isolates agreement. Who knows tense and verb
// but not the person reaches an accuracy of 0.73.
//
// order_accuracy: P(he works) > P(works he). A quarter as many sequences of the
// same length come in pairs: opening, clauses and the opening's word of time,
// and then subject and form in either order, as two tokens whose probabilities
// multiply. The subject has to be more likely to come first; equal is not. It
// is a floor and no race: to what predicts the next token the word of time
// alone calls for a subject, so that who has learned how clauses begin is right
// without any positions and at any distance. Less than 1 says that even the
// nearest words are lost; what distance costs is in the other metrics.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/training/task.h"

namespace locus {

std::unique_ptr<Task> MakeAgreementTask();

// The sentence in words.
std::string AgreementText(absl::Span<const int32_t> tokens);

// Whether the token is a form of a verb that is held out.
bool IsHeldOutForm(int32_t token);

}  // namespace locus
