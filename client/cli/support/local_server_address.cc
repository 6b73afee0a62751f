#include "client/cli/support/local_server_address.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace locus::client {

std::string LocalServerAddress(absl::string_view listen) {
  if (absl::StartsWith(listen, "unix:")) return std::string(listen);
  const size_t colon = listen.rfind(':');
  if (colon == absl::string_view::npos) return "127.0.0.1:50051";
  const absl::string_view host = listen.substr(0, colon);
  const absl::string_view port = listen.substr(colon + 1);
  if (port == "0" || port.empty()) return "127.0.0.1:50051";
  if (host == "0.0.0.0") return absl::StrCat("127.0.0.1:", port);
  if (host == "[::]") return absl::StrCat("[::1]:", port);
  return std::string(listen);
}

}  // namespace locus::client
