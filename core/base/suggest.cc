#include "core/base/suggest.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace locus {

int EditDistance(absl::string_view a, absl::string_view b) {
  // rows[i][j] is the distance between the first i characters of `a` and the
  // first j characters of `b`.
  std::vector<std::vector<int>> rows(a.size() + 1,
                                     std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) rows[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

std::string Nearest(absl::string_view word,
                    const std::vector<std::string>& names) {
  constexpr size_t kMaxWordLength = 64;
  if (word.size() > kMaxWordLength) return "";
  std::string nearest;
  // A larger distance than this suggests an unrelated word.
  int best = std::max<int>(1, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& name : names) {
    const int distance = EditDistance(word, name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string DidYouMean(absl::string_view word,
                       const std::vector<std::string>& names) {
  const std::string nearest = Nearest(word, names);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

}  // namespace locus
