#include "server/config/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "server/config/flag_docs.h"
#include "server/rpc/status.h"
#include "server/config/validate.h"
#include "server/base/version.h"

namespace locus::server {
namespace {

constexpr char kFlagFile[] = "flagfile";
constexpr char kFlagFileHelp[] =
    "read flags from a file, one name=value per line";

constexpr char kExamples[] = R"(
Every flag is also an environment variable (--max-queued-calls is
LOCUS_MAX_QUEUED_CALLS) and a line of the flag file (max-queued-calls=64).
A flag wins over a variable, a variable over the file. Sizes take KiB, MiB
and GiB.

Examples:
  locusd                                  loopback, all processors
  locusd --listen=0.0.0.0:50051 --http=0.0.0.0:9464
  locusd --listen=127.0.0.1:0             a free port; the log has it
  locusd --listen=unix:/run/locus.sock --http=
  locusd --listen=0.0.0.0:50051 --tls-cert=server.pem --tls-key=server.key \
         --auth-tokens=tokens --auth-exempt=health
  locusd --threads=4 --memory-budget-bytes=2GiB --max-queued-calls=64
  LOCUS_THREADS=2 locusd --flagfile=/etc/locusd.flags
)";

absl::Status BadValue(absl::string_view value, absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", Printable(value, 200), "\" is not ", rule));
}

absl::Status ParseInto(absl::string_view text, std::string* value) {
  *value = std::string(text);
  return absl::OkStatus();
}

absl::Status ParseInto(absl::string_view text, int* value) {
  if (absl::SimpleAtoi(text, value)) return absl::OkStatus();
  return BadValue(text, "a whole number");
}

absl::Status ParseInto(absl::string_view text, double* value) {
  if (absl::SimpleAtod(text, value)) return absl::OkStatus();
  return BadValue(text, "a number");
}

absl::Status ParseInto(absl::string_view text, bool* value) {
  if (absl::SimpleAtob(text, value)) return absl::OkStatus();
  return BadValue(text, "true or false");
}

// Bytes, with a suffix of 1024 or its powers.
absl::Status ParseInto(absl::string_view text, int64_t* value) {
  static constexpr std::pair<absl::string_view, int> kSuffixes[] = {
      {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  absl::string_view number = text;
  int shift = 0;
  for (const auto& [suffix, bits] : kSuffixes) {
    if (absl::ConsumeSuffix(&number, suffix)) {
      shift = bits;
      break;
    }
  }
  int64_t count = 0;
  if (!absl::SimpleAtoi(number, &count) || count < 0 ||
      count > (std::numeric_limits<int64_t>::max() >> shift)) {
    return BadValue(text, "a size such as 1048576 or 512MiB");
  }
  *value = count << shift;
  return absl::OkStatus();
}

struct Flag {
  const char* name;
  const char* help;
  std::function<absl::Status(absl::string_view, ServerOptions*)> set;
};

template <typename T>
Flag MakeFlag(const char* name, T ServerOptions::*member, const char* help) {
  return {name, help, [member](absl::string_view text, ServerOptions* options) {
            return ParseInto(text, &(options->*member));
          }};
}

const std::vector<Flag>& Flags() {
  using O = ServerOptions;
  static const auto* const flags = new std::vector<Flag>{
      MakeFlag("listen", &O::listen,
               "where RPCs are served: host:port or unix:/path "
               "[127.0.0.1:50051]"),
      MakeFlag("http", &O::http,
               "where /metrics, /healthz and /readyz are served; empty: "
               "nowhere [127.0.0.1:9464]"),
      MakeFlag("tls-cert", &O::tls_cert,
               "certificate chain in PEM form; read again when it changes"),
      MakeFlag("tls-key", &O::tls_key, "its private key in PEM form"),
      MakeFlag("tls-client-ca", &O::tls_client_ca,
               "clients must show a certificate of one of these authorities"),
      MakeFlag("auth-tokens", &O::auth_tokens,
               "file of bearer tokens, one per line; every call needs one"),
      MakeFlag("auth-exempt", &O::auth_exempt,
               "what needs no token: health, reflection, metrics, with commas"),
      MakeFlag("allow-plaintext-tokens", &O::allow_plaintext_tokens,
               "take tokens without TLS from other machines [false]"),
      MakeFlag("max-connections", &O::max_connections,
               "connections at once; more are hung up on; 0: as many as there "
               "are descriptors for, at most 10000 [0]"),
      MakeFlag("max-connection-idle-seconds", &O::max_connection_idle_seconds,
               "when an unused connection is closed; 0: never [1800]"),
      MakeFlag("max-connection-age-seconds", &O::max_connection_age_seconds,
               "when any connection is closed; 0: never [0]"),
      MakeFlag("max-streams", &O::max_streams,
               "calls of one connection at once; more wait [100]"),
      MakeFlag("max-metadata-bytes", &O::max_metadata_bytes,
               "metadata of a call [16KiB]"),
      MakeFlag("threads", &O::threads,
               "threads that compute; 0: all processors [0]"),
      MakeFlag("max-queued-calls", &O::max_queued_calls,
               "calls that may wait; more are refused [1000]"),
      MakeFlag("max-queue-seconds", &O::max_queue_seconds,
               "longest wait that is expected of a call; longer: refused [2]"),
      MakeFlag("max-message-bytes", &O::max_message_bytes,
               "largest message in or out [512MiB]"),
      MakeFlag("memory-budget-bytes", &O::memory_budget_bytes,
               "memory of all calls; 0: half of what there is [0]"),
      MakeFlag("max-call-bytes", &O::max_call_bytes,
               "memory of one call; 0: all of the budget [0]"),
      MakeFlag("max-call-flops", &O::max_call_flops,
               "multiplications and additions of one call; 0: about ten "
               "minutes of them [0]"),
      MakeFlag("max-elements", &O::max_elements,
               "elements of a tensor; 0: as many as fit into one call [0]"),
      MakeFlag("max-length", &O::max_length,
               "positions of a sequence; 0: as --max-elements [0]"),
      MakeFlag("max-heads", &O::max_heads, "heads of a call [4096]"),
      MakeFlag("grace-seconds", &O::grace_seconds,
               "time to finish calls after SIGTERM [20]"),
      MakeFlag("max-evaluations", &O::max_evaluations,
               "evaluations at once; more are refused, 0: all [2]"),
      MakeFlag("max-evaluation-flops", &O::max_evaluation_flops,
               "largest evaluation, in multiplications and additions [2e14]"),
      MakeFlag("background-evaluations", &O::background_evaluations,
               "evaluations yield to all other work of the machine [true]"),
      MakeFlag("log-calls", &O::log_calls, "log a line per call [true]")};
  return *flags;
}

std::vector<FlagText> FlagTexts() {
  std::vector<FlagText> texts;
  for (const Flag& flag : Flags()) texts.push_back({flag.name, flag.help});
  texts.push_back({kFlagFile, kFlagFileHelp});
  return texts;
}

using Values = std::map<std::string, std::string>;

std::string VariableName(absl::string_view flag) {
  return absl::StrCat(
      "LOCUS_", absl::AsciiStrToUpper(absl::StrReplaceAll(flag, {{"-", "_"}})));
}

bool IsFlag(absl::string_view name) {
  return std::any_of(Flags().begin(), Flags().end(),
                     [&](const Flag& flag) { return flag.name == name; });
}

absl::StatusOr<Values> ReadFlagFile(const std::string& path) {
  std::ifstream file(path);
  const auto unreadable = absl::InvalidArgumentError(
      absl::StrCat("--flagfile: cannot read ", Printable(path, 200)));
  if (!file) return unreadable;
  Values values;
  std::string raw;
  for (int number = 1; std::getline(file, raw); ++number) {
    absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty() || line[0] == '#') continue;
    absl::ConsumePrefix(&line, "--");
    const size_t equals = line.find('=');
    const std::string name = absl::StrReplaceAll(
        absl::StripTrailingAsciiWhitespace(line.substr(0, equals)),
        {{"_", "-"}});
    if (equals == absl::string_view::npos || !IsFlag(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Printable(path, 200), ":", number, ": \"",
                       Printable(line, 200), "\" sets no flag"));
    }
    values[name] =
        std::string(absl::StripLeadingAsciiWhitespace(line.substr(equals + 1)));
  }
  if (file.bad()) return unreadable;
  return values;
}

// A value, and where it was found, for the error.
struct Found {
  std::string value;
  std::string source;
};

std::optional<Found> Find(const std::string& name, const Values& flags,
                          const Environment& environment, const Values& file,
                          const std::string& path) {
  if (const auto flag = flags.find(name); flag != flags.end()) {
    return Found{flag->second, absl::StrCat("--", name)};
  }
  const std::string variable = VariableName(name);
  if (auto value = environment(variable)) return Found{*value, variable};
  if (const auto line = file.find(name); line != file.end()) {
    return Found{line->second, absl::StrCat("--", name, " in ", path)};
  }
  return std::nullopt;
}

// CLI11 takes `--http=` for a flag without a value, so that an empty value has
// to travel as something else.
constexpr char kEmptyValue[] = "\x01";

// In the order that CLI11 wants, from the back.
std::vector<std::string> ForParser(const std::vector<std::string>& arguments) {
  std::vector<std::string> result(arguments.rbegin(), arguments.rend());
  for (std::string& argument : result) {
    if (absl::StartsWith(argument, "--") && absl::EndsWith(argument, "=")) {
      argument += kEmptyValue;
    }
  }
  return result;
}

// What was given on the command line, or the text to print instead.
absl::StatusOr<std::optional<std::string>> ReadArguments(
    const std::vector<std::string>& arguments, Values* values) {
  CLI::App app("locusd: positional encodings and attention as a service",
               "locusd");
  app.footer(kExamples);
  app.set_version_flag("--version", VersionLine());
  std::map<std::string, std::string> given;
  std::map<std::string, CLI::Option*> options;
  const auto add = [&](const char* name, const char* help) {
    options[name] = app.add_option(absl::StrCat("--", name), given[name], help)
                        ->type_name("VALUE")
                        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  for (const Flag& flag : Flags()) add(flag.name, flag.help);
  add(kFlagFile, kFlagFileHelp);
  std::string shell;
  app.add_option("--completion", shell, "print a script that completes flags")
      ->type_name("bash");
  bool manual = false;
  app.add_flag("--manual", manual, "print the manual page, for man");
  try {
    app.parse(ForParser(arguments));
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion& version) {
    return absl::StrCat(version.what(), "\n");
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(error.what(), 400), "; see locusd --help"));
  }
  if (manual) return ManualPage(FlagTexts(), kExamples);
  if (!shell.empty()) {
    std::string script = Completion(shell, FlagTexts());
    if (!script.empty()) return script;
    return absl::InvalidArgumentError(
        absl::StrCat("--completion: \"", Printable(shell, 200),
                     "\" is not bash, zsh or fish"));
  }
  for (const auto& [name, option] : options) {
    if (option->count() == 0) continue;
    (*values)[name] = given[name] == kEmptyValue ? "" : given[name];
  }
  return std::nullopt;
}

}  // namespace

Environment ProcessEnvironment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

absl::StatusOr<Command> ParseCommandLine(
    const std::vector<std::string>& arguments, const Environment& environment) {
  Command command;
  Values flags;
  LOCUS_ASSIGN_OR_RETURN(command.text, ReadArguments(arguments, &flags));
  if (command.text.has_value()) return command;

  Values file;
  std::string path;
  if (const auto found = Find(kFlagFile, flags, environment, {}, "")) {
    path = found->value;
    LOCUS_ASSIGN_OR_RETURN(file, ReadFlagFile(path));
  }
  for (const Flag& flag : Flags()) {
    const auto found = Find(flag.name, flags, environment, file, path);
    if (!found.has_value()) continue;
    if (const absl::Status set = flag.set(found->value, &command.options);
        !set.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(found->source, ": ", set.message()));
    }
  }
  LOCUS_RETURN_IF_ERROR(Validate(command.options));
  return command;
}

}  // namespace locus::server
