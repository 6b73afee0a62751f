#include "core/encoding/schemes.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/base/status.h"

// One line for each scheme. X(Rope) stands for DescribeRope in rope.cc.
#define LOCUS_SCHEMES(X) \
  X(None)                \
  X(Sinusoidal)          \
  X(Learned)             \
  X(Rope)                \
  X(Alibi)               \
  X(T5Bias)

namespace locus {

#define LOCUS_DECLARE(scheme) SchemeInfo Describe##scheme();
LOCUS_SCHEMES(LOCUS_DECLARE)
#undef LOCUS_DECLARE

namespace {

// Puts the scheme's name before the fields of what it complains about.
class NamedScheme final : public Scheme {
 public:
  NamedScheme(absl::string_view name, std::unique_ptr<Scheme> scheme)
      : name_(name), scheme_(std::move(scheme)) {}

  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    auto compiled = scheme_->Compile(geometry);
    if (!compiled.ok()) return Within(name_, compiled.status());
    return compiled;
  }
  int64_t head_count() const override { return scheme_->head_count(); }
  int64_t dim() const override { return scheme_->dim(); }

 private:
  const absl::string_view name_;
  const std::unique_ptr<Scheme> scheme_;
};

}  // namespace

absl::Span<const SchemeInfo> AllSchemes() {
#define LOCUS_DESCRIBE(scheme) Describe##scheme(),
  static const auto* const schemes =
      new std::vector<SchemeInfo>{LOCUS_SCHEMES(LOCUS_DESCRIBE)};
#undef LOCUS_DESCRIBE
  return *schemes;
}

const SchemeInfo* FindScheme(absl::string_view name) {
  const auto schemes = AllSchemes();
  const auto found = absl::c_find_if(
      schemes, [&](const SchemeInfo& info) { return info.name == name; });
  return found == schemes.end() ? nullptr : &*found;
}

absl::StatusOr<std::unique_ptr<Scheme>> MakeScheme(const SchemeInfo& info,
                                                   Arguments arguments) {
  if (const absl::Status checked = arguments.Check(info.parameters);
      !checked.ok()) {
    return Within(info.name, checked);
  }
  auto scheme = info.make(arguments);
  if (!scheme.ok()) return Within(info.name, scheme.status());
  return std::make_unique<NamedScheme>(info.name, *std::move(scheme));
}

}  // namespace locus
