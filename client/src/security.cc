#include "locus/client/security.h"

#include <sys/stat.h>

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "client/base/status_macros.h"
#include "client/io/file.h"
#include "grpcpp/channel.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "grpcpp/support/client_interceptor.h"

namespace locus::client {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{1} << 20;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  CLIENT_ASSIGN_OR_RETURN(FileReader reader, FileReader::Open(path));
  return reader.Read(kMaxFileBytes);
}

// Returns a string that changes when the file is modified or replaced.
std::string Fingerprint(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return "";
  return absl::StrCat(info.st_dev, ",", info.st_ino, ",", info.st_size, ",",
                      info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

bool IsLoopback(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) return true;
  for (const absl::string_view prefix : {"dns:///", "ipv4:", "ipv6:"}) {
    if (absl::StartsWith(address, prefix)) address.remove_prefix(prefix.size());
  }
  const absl::string_view host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  const auto is_number = [](char c) { return absl::ascii_isdigit(c) != 0; };
  const std::vector<absl::string_view> parts = absl::StrSplit(host, '.');
  return parts.size() == 4 && parts[0] == "127" &&
         absl::c_all_of(parts, [&](absl::string_view part) {
           return !part.empty() && absl::c_all_of(part, is_number);
         });
}

}  // namespace

// The current content of a token file, which may be replaced at any time.
// Thread-safe.
class TokenFile {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  // Returns the value of the authorization header. Checks the file for changes
  // at most once a second. If the file cannot be read, for example while it is
  // being replaced, the previous token is kept.
  absl::StatusOr<std::string> Header() ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!header_.empty() && now < next_check_) return header_;
    next_check_ = now + std::chrono::seconds(1);
    std::string fingerprint = Fingerprint(path_);
    if (!header_.empty() && fingerprint == fingerprint_) return header_;
    auto read = Read();
    if (read.ok()) {
      header_ = *std::move(read);
      fingerprint_ = std::move(fingerprint);
    }
    if (header_.empty()) return read.status();
    return header_;
  }

 private:
  absl::StatusOr<std::string> Read() const {
    CLIENT_ASSIGN_OR_RETURN(const std::string text, ReadFile(path_));
    for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
      const absl::string_view line = absl::StripAsciiWhitespace(raw);
      if (line.empty() || line[0] == '#') continue;
      if (absl::c_all_of(line, absl::ascii_isgraph)) {
        return absl::StrCat("Bearer ", line);
      }
      break;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(path_,
                     " contains no token; a token has visible ASCII "
                     "characters and no spaces"));
  }

  const std::string path_;
  absl::Mutex mutex_;
  std::chrono::steady_clock::time_point next_check_ ABSL_GUARDED_BY(mutex_);
  std::string fingerprint_ ABSL_GUARDED_BY(mutex_);
  std::string header_ ABSL_GUARDED_BY(mutex_);
};

namespace {

// Attaches the token to every call of a TLS channel.
class TokenPlugin final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit TokenPlugin(std::shared_ptr<TokenFile> token)
      : token_(std::move(token)) {}

  bool IsBlocking() const override { return false; }
  grpc::Status GetMetadata(
      grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
      std::multimap<std::string, std::string>* metadata) override {
    const auto header = token_->Header();
    if (!header.ok()) {
      return {grpc::StatusCode::UNAUTHENTICATED,
              std::string(header.status().message())};
    }
    metadata->emplace("authorization", *header);
    return grpc::Status::OK;
  }
  std::string DebugString() override { return "a bearer token"; }

 private:
  const std::shared_ptr<TokenFile> token_;
};

// Attaches the token to the calls of a plaintext channel, for which gRPC does
// not support call credentials.
class TokenInterceptor final : public grpc::experimental::Interceptor {
 public:
  explicit TokenInterceptor(std::shared_ptr<TokenFile> token)
      : token_(std::move(token)) {}

  void Intercept(
      grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_INITIAL_METADATA)) {
      // If the token cannot be read, the server rejects the call with an
      // explanation.
      if (const auto header = token_->Header(); header.ok()) {
        methods->GetSendInitialMetadata()->emplace("authorization", *header);
      }
    }
    methods->Proceed();
  }

 private:
  const std::shared_ptr<TokenFile> token_;
};

class TokenInterceptorFactory final
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit TokenInterceptorFactory(std::shared_ptr<TokenFile> token)
      : token_(std::move(token)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new TokenInterceptor(token_);
  }

 private:
  const std::shared_ptr<TokenFile> token_;
};

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(
    const SecurityOptions& options) {
  grpc::SslCredentialsOptions tls;
  for (const auto& [path, content] :
       {std::pair{&options.ca_file, &tls.pem_root_certs},
        std::pair{&options.certificate_file, &tls.pem_cert_chain},
        std::pair{&options.key_file, &tls.pem_private_key}}) {
    if (path->empty()) continue;
    CLIENT_ASSIGN_OR_RETURN(*content, ReadFile(*path));
    // gRPC accepts any content and later only reports a failed connection.
    if (!absl::StrContains(*content, "-----BEGIN ")) {
      return absl::InvalidArgumentError(
          absl::StrCat(*path, " is not in PEM format"));
    }
  }
  return grpc::SslCredentials(tls);
}

}  // namespace

Security::Security(const SecurityOptions& options) : options_(options) {}
Security::~Security() = default;

absl::StatusOr<std::shared_ptr<const Security>> Security::Load(
    const SecurityOptions& options) {
  if (!options.certificate_file.empty() && options.key_file.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the client certificate ",
                                                   options.certificate_file,
                                                   " needs a private key"));
  }
  if (options.certificate_file.empty() && !options.key_file.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the private key ", options.key_file, " needs a client certificate"));
  }
  std::shared_ptr<Security> security(new Security(options));
  if (!options.token_file.empty()) {
    security->token_ = std::make_shared<TokenFile>(options.token_file);
    CLIENT_RETURN_IF_ERROR(security->token_->Header().status());
  }
  if (!options.UsesTls()) {
    security->credentials_ = grpc::InsecureChannelCredentials();
    return security;
  }
  CLIENT_ASSIGN_OR_RETURN(security->credentials_, TlsCredentials(options));
  if (security->token_ != nullptr) {
    security->credentials_ = grpc::CompositeChannelCredentials(
        security->credentials_,
        grpc::MetadataCredentialsFromPlugin(
            std::make_unique<TokenPlugin>(security->token_)));
  }
  return security;
}

absl::Status Security::CheckAddress(const std::string& address) const {
  if (token_ == nullptr || options_.UsesTls() ||
      options_.allow_plaintext_token || IsLoopback(address)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the token would be sent to ", address,
      " in plaintext; use TLS, or allow plaintext tokens if another layer "
      "encrypts the traffic"));
}

std::shared_ptr<grpc::Channel> Security::MakeChannel(
    const std::string& address, grpc::ChannelArguments arguments) const {
  if (!options_.server_name.empty()) {
    arguments.SetSslTargetNameOverride(options_.server_name);
  }
  if (token_ == nullptr || options_.UsesTls()) {
    return grpc::CreateCustomChannel(address, credentials_, arguments);
  }
  // A proxy configured in the environment would see the token, even for
  // loopback addresses.
  if (!options_.allow_plaintext_token) {
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  }
  std::vector<
      std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
      factories;
  factories.push_back(std::make_unique<TokenInterceptorFactory>(token_));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address, credentials_, arguments, std::move(factories));
}

}  // namespace locus::client
