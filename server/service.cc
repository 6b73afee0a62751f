#include "server/service.h"

#include "absl/strings/str_cat.h"

namespace locus::server {

const MethodInfo* Service::AddInfo(absl::string_view method, MethodType type) {
  methods_.emplace_back(absl::StrCat("/", name_, "/", method),
                        state_.metrics.AddMethod(name_, method, type),
                        state_.pool.thread_count());
  return &methods_.back();
}

}  // namespace locus::server
