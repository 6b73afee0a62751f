#include "server/config/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
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
#include "core/base/suggest.h"
#include "server/base/printable.h"
#include "server/base/version.h"
#include "server/config/flag_docs.h"
#include "server/config/validate.h"

namespace locus::server {
namespace {

constexpr char kFlagFile[] = "flagfile";
constexpr char kFlagFileHelp[] = "file with flags, one name=value per line";

constexpr char kExamples[] = R"(
Every flag can also be set by an environment variable (--max-queued-calls is
LOCUS_MAX_QUEUED_CALLS) or by a line of the flag file (max-queued-calls=64).
Flags take precedence over variables, and variables over the file. Sizes
accept the suffixes KiB, MiB, GiB and TiB.

Examples:
  locusd                                  on loopback, with all processors
  locusd --listen=0.0.0.0:50051 --http=0.0.0.0:9464
  locusd --listen=127.0.0.1:0             on a free port, given in the log
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

// Parses a size in bytes, with an optional suffix from KiB to TiB.
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

// One flag: its name without dashes, its help text, which ends with the default
// in square brackets, and a function that parses a value into the options.
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
               "address for RPCs: host:port or unix:/path [127.0.0.1:50051]"),
      MakeFlag("http", &O::http,
               "address for /metrics, /livez, /healthz and /readyz; empty: not "
               "served [127.0.0.1:9464]"),
      MakeFlag("tls-cert", &O::tls_cert,
               "certificate chain (PEM) of both ports; reloaded when the file "
               "changes"),
      MakeFlag("tls-key", &O::tls_key,
               "private key of --tls-cert (PEM, without a password)"),
      MakeFlag("tls-client-ca", &O::tls_client_ca,
               "certificate authorities (PEM); clients must present a "
               "certificate issued by one of them, except for HTTP probes"),
      MakeFlag("auth-tokens", &O::auth_tokens,
               "file with bearer tokens, one per line; every call must present "
               "one of them"),
      MakeFlag("auth-exempt", &O::auth_exempt,
               "comma-separated list of parts that need no token: health, "
               "reflection, metrics"),
      MakeFlag("allow-plaintext-tokens", &O::allow_plaintext_tokens,
               "accept tokens from other machines without TLS [false]"),
      MakeFlag("max-connections", &O::max_connections,
               "max open connections; further ones are closed; 0: as many as "
               "the file descriptors allow, at most 10000 [0]"),
      MakeFlag(
          "max-connection-idle-seconds", &O::max_connection_idle_seconds,
          "close connections that are idle for this time; 0: never [1800]"),
      MakeFlag("max-connection-age-seconds", &O::max_connection_age_seconds,
               "close connections of this age; 0: never [0]"),
      MakeFlag("max-streams", &O::max_streams,
               "max concurrent calls per connection; further calls wait in the "
               "client [100]"),
      MakeFlag("max-metadata-bytes", &O::max_metadata_bytes,
               "max total metadata of a call [16KiB]"),
      MakeFlag("threads", &O::threads,
               "compute threads; 0: one per available processor [0]"),
      MakeFlag("max-queued-calls", &O::max_queued_calls,
               "max waiting calls; further calls are rejected [1000]"),
      MakeFlag("max-queue-seconds", &O::max_queue_seconds,
               "max expected wait of a call; calls that would wait longer are "
               "rejected [2]"),
      MakeFlag("max-message-bytes", &O::max_message_bytes,
               "max size of a received or sent message [512MiB]"),
      MakeFlag("memory-budget-bytes", &O::memory_budget_bytes,
               "max memory of all calls together; 0: half of the available "
               "memory [0]"),
      MakeFlag("max-call-bytes", &O::max_call_bytes,
               "max memory of one call; 0: --memory-budget-bytes [0]"),
      MakeFlag("max-call-flops", &O::max_call_flops,
               "max multiplications and additions of one call; 0: about ten "
               "minutes of computing [0]"),
      MakeFlag("max-elements", &O::max_elements,
               "max elements of a tensor; 0: as many floats as fit into "
               "--max-call-bytes [0]"),
      MakeFlag("max-length", &O::max_length,
               "max positions of a sequence; 0: --max-elements [0]"),
      MakeFlag("max-heads", &O::max_heads,
               "max attention heads of a call [4096]"),
      MakeFlag("grace-seconds", &O::grace_seconds,
               "max time to finish calls in flight after SIGTERM [20]"),
      MakeFlag("max-evaluations", &O::max_evaluations,
               "max concurrent evaluations; further ones are rejected; 0: all "
               "are rejected [2]"),
      MakeFlag("max-evaluation-flops", &O::max_evaluation_flops,
               "max multiplications and additions of an evaluation [2e14]"),
      MakeFlag("background-evaluations", &O::background_evaluations,
               "run evaluations at the lowest priority, so that they yield to "
               "all other work on the machine [true]"),
      MakeFlag("log-calls", &O::log_calls, "write a log line per call [true]")};
  return *flags;
}

std::vector<FlagHelp> AllFlagHelp() {
  std::vector<FlagHelp> texts;
  for (const Flag& flag : Flags()) texts.push_back({flag.name, flag.help});
  texts.push_back({kFlagFile, kFlagFileHelp});
  return texts;
}

// Values as text, by the name of the flag.
using Values = std::map<std::string, std::string>;

// The environment variable of a flag.
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
                       Printable(line, 200), "\" does not set a flag"));
    }
    values[name] =
        std::string(absl::StripLeadingAsciiWhitespace(line.substr(equals + 1)));
  }
  if (file.bad()) return unreadable;
  return values;
}

// The value of a flag, and its source for error messages.
struct FlagValue {
  std::string value;
  std::string source;
};

// Returns the value with the highest precedence, or nullopt if the flag is not
// set anywhere.
std::optional<FlagValue> FindValue(const std::string& name, const Values& flags,
                                   const Environment& environment,
                                   const Values& file,
                                   const std::string& path) {
  if (const auto flag = flags.find(name); flag != flags.end()) {
    return FlagValue{flag->second, absl::StrCat("--", name)};
  }
  const std::string variable = VariableName(name);
  if (auto value = environment(variable)) return FlagValue{*value, variable};
  if (const auto line = file.find(name); line != file.end()) {
    return FlagValue{line->second, absl::StrCat("--", name, " in ", path)};
  }
  return std::nullopt;
}

// CLI11 parses `--http=` as a flag without a value, so empty values are
// replaced with this placeholder while it parses.
constexpr char kEmptyValue[] = "\x01";

// Converts arguments to the form that CLI11 expects: in reverse order, and with
// kEmptyValue for empty values.
std::vector<std::string> ForParser(const std::vector<std::string>& arguments) {
  std::vector<std::string> result(arguments.rbegin(), arguments.rend());
  for (std::string& argument : result) {
    if (absl::StartsWith(argument, "--") && absl::EndsWith(argument, "=")) {
      argument += kEmptyValue;
    }
  }
  return result;
}

// The error for the first argument that `app` does not know.
absl::Status UnknownArgument(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    names.push_back(option->get_name());
  }
  const std::vector<std::string> extras = app.remaining();
  const std::string& extra = extras.front();
  const std::string name = extra.substr(0, extra.find('='));
  const bool is_flag = absl::StartsWith(name, "-");
  return absl::InvalidArgumentError(absl::StrCat(
      is_flag ? "unknown flag " : "unexpected argument ", Printable(name, 400),
      is_flag ? DidYouMean(name, names) : "", "; see locusd --help"));
}

// Parses the command line into `values`. Returns the text to print if a flag
// such as --help asks for one, else nullopt.
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
  app.add_option("--completion", shell,
                 "print a completion script for bash, zsh or fish")
      ->type_name("SHELL");
  bool manual = false;
  app.add_flag("--manual", manual, "print the manual page in man format");
  try {
    app.parse(ForParser(arguments));
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion& version) {
    return absl::StrCat(version.what(), "\n");
  } catch (const CLI::ExtrasError&) {
    return UnknownArgument(app);
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(error.what(), 400), "; see locusd --help"));
  }
  if (manual) return ManualPage(AllFlagHelp(), kExamples);
  if (!shell.empty()) {
    std::string script = Completion(shell, AllFlagHelp());
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
  if (const auto found = FindValue(kFlagFile, flags, environment, {}, "")) {
    path = found->value;
    LOCUS_ASSIGN_OR_RETURN(file, ReadFlagFile(path));
  }
  for (const Flag& flag : Flags()) {
    const auto found = FindValue(flag.name, flags, environment, file, path);
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
