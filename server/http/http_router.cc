#include "server/http/http_router.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/http/http_response.h"

namespace locus::server {

void HttpRouter::Add(absl::string_view path, HttpRoute route) {
  routes_.insert_or_assign(std::string(path), std::move(route));
}

const HttpRoute* HttpRouter::Find(absl::string_view path) const {
  const auto found = routes_.find(std::string(path));
  return found == routes_.end() ? nullptr : &found->second;
}

std::string HttpRouter::Paths() const {
  return absl::StrJoin(routes_, ", ", [](std::string* out, const auto& entry) {
    out->append(entry.first);
  });
}

bool AllowsMethod(const HttpRoute& route, absl::string_view method) {
  return absl::c_linear_search(route.methods, method);
}

HttpResponse MethodNotAllowed(const HttpRoute& route) {
  const std::string methods = absl::StrJoin(route.methods, ", ");
  HttpResponse response =
      HttpTextResponse(405, absl::StrCat("use ", methods, "\n"));
  response.headers.emplace_back("Allow", methods);
  return response;
}

}  // namespace locus::server
