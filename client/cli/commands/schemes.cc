#include <memory>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "client/cli/commands/command.h"
#include "client/cli/render/json.h"
#include "client/cli/render/table.h"
#include "client/cli/requests/scheme_names.h"
#include "client/cli/support/cli_errors.h"
#include "client/cli/support/session.h"
#include "core/base/suggest.h"

namespace locus::client {
namespace {

constexpr char kSchemesExamples[] = R"(Examples:
  locus schemes
  locus schemes rope
  locus schemes --markdown                # the table in docs/schemes.md
  locus schemes --json --server localhost:50051)";

struct SchemesFlags {
  CommonFlags common;
  std::string name;
  bool markdown = false;
};

// Turns "SCHEME_SITE_QUERIES_AND_KEYS" into "queries and keys".
std::string Words(const std::string& value, absl::string_view prefix) {
  return absl::StrReplaceAll(
      absl::AsciiStrToLower(absl::string_view(value).substr(prefix.size())),
      {{"_", " "}});
}

std::string SiteName(v1::SchemeSite site) {
  if (!v1::SchemeSite_IsValid(site)) return "unknown";
  return Words(v1::SchemeSite_Name(site), "SCHEME_SITE_");
}

std::string AnswerName(v1::PromiseAnswer answer) {
  if (!v1::PromiseAnswer_IsValid(answer)) return "unknown";
  return Words(v1::PromiseAnswer_Name(answer), "PROMISE_ANSWER_");
}

std::string FormatAll(const v1::ListSchemesResponse& response) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "ACTS ON", "TITLE", "REFERENCE"}};
  for (const v1::SchemeDescription& scheme : response.schemes()) {
    rows.push_back({scheme.name(), SiteName(scheme.acts_on()), scheme.title(),
                    scheme.reference()});
  }
  return FormatRows(rows);
}

// What a parameter means and which values it takes: "number of rotated channels
// (integer, from 2 to 2147483648)".
std::string Meaning(const v1::SchemeParameter& parameter) {
  const std::string allowed = parameter.choices().empty()
                                  ? parameter.range()
                                  : absl::StrJoin(parameter.choices(), ", ");
  return absl::StrCat(parameter.description(), " (", parameter.type(),
                      parameter.choices().empty() ? ", " : ": ", allowed, ")");
}

std::string FormatParameters(const v1::SchemeDescription& scheme) {
  std::vector<std::vector<std::string>> rows = {
      {"PARAMETER", "DEFAULT", "MEANING"}};
  for (const v1::SchemeParameter& parameter : scheme.parameters()) {
    rows.push_back(
        {parameter.name(),
         parameter.default_value().empty() ? "-" : parameter.default_value(),
         Meaning(parameter)});
  }
  return FormatRows(rows);
}

std::string FormatOne(const v1::SchemeDescription& scheme) {
  std::string text = FormatRows({{scheme.name(), scheme.title()},
                                 {"acts on", SiteName(scheme.acts_on())},
                                 {"beyond training", scheme.beyond_training()},
                                 {"reference", scheme.reference()}});
  if (scheme.parameters_size() > 0) {
    absl::StrAppend(&text, "\n", FormatParameters(scheme));
  }
  std::vector<std::vector<std::string>> rows = {{"PROPERTY", "PROMISED", ""}};
  for (const v1::SchemePromise& promise : scheme.promises()) {
    rows.push_back(
        {promise.property(), AnswerName(promise.answer()), promise.note()});
  }
  return absl::StrCat(text, "\n", FormatRows(rows));
}

// The parameters of a scheme in one cell of the table: "`base`, `layout`
// (interleaved, half split), and at most one scaling: `linear`, `ntk`".
// Parameters inside a group are left out.
std::string MarkdownParameters(const v1::SchemeDescription& scheme) {
  std::vector<std::string> names;
  std::vector<std::string> groups;
  std::string kind;
  for (const v1::SchemeParameter& parameter : scheme.parameters()) {
    if (absl::StrContains(parameter.name(), ".")) continue;
    std::string name = absl::StrCat("`", parameter.name(), "`");
    if (parameter.type() == "group") {
      groups.push_back(std::move(name));
      kind = parameter.range().substr(parameter.range().rfind(' ') + 1);
      continue;
    }
    if (parameter.choices_size() > 0) {
      absl::StrAppend(&name, " (",
                      Words(absl::StrJoin(parameter.choices(), ", "), ""), ")");
    }
    names.push_back(std::move(name));
  }
  if (!groups.empty()) {
    names.push_back(absl::StrCat("and at most one ", kind, ": ",
                                 absl::StrJoin(groups, ", ")));
  }
  return absl::StrJoin(names, ", ");
}

std::string FormatMarkdown(const v1::ListSchemesResponse& response) {
  std::string text =
      "| name | acts on | parameters | past the training length |\n"
      "|---|---|---|---|\n";
  for (const v1::SchemeDescription& scheme : response.schemes()) {
    const std::string parameters = MarkdownParameters(scheme);
    const std::string row = absl::StrCat(
        "| `", scheme.name(), "` | ", SiteName(scheme.acts_on()),
        scheme.causal_only() ? ", causal" : "", " | ", parameters,
        parameters.empty() ? "| " : " | ", scheme.beyond_training(), " |");
    absl::StrAppend(&text, PrintableLine(row), "\n");
  }
  return text;
}

absl::StatusOr<v1::SchemeDescription> Find(
    const v1::ListSchemesResponse& response, const std::string& name) {
  // Aliases such as yarn stand for the scheme that they are a part of.
  const auto named = FindNamedScheme(name);
  std::vector<std::string> names;
  for (const v1::SchemeDescription& scheme : response.schemes()) {
    if (scheme.name() == name ||
        (named.has_value() && scheme.name() == named->kind->name())) {
      return scheme;
    }
    names.push_back(scheme.name());
  }
  return UsageError(absl::StrCat("there is no scheme \"", name, "\"",
                                 DidYouMean(absl::AsciiStrToLower(name), names),
                                 " (schemes: ", absl::StrJoin(names, ", "),
                                 ")"));
}

absl::StatusOr<Outcome> Run(const SchemesFlags& flags) {
  CLIENT_ASSIGN_OR_RETURN(const Session session, OpenSession(flags.common));
  CLIENT_ASSIGN_OR_RETURN(const v1::ListSchemesResponse response,
                          session.client->ListSchemes());
  Outcome outcome;
  if (flags.markdown) return Outcome{.text = FormatMarkdown(response)};
  if (flags.name.empty()) {
    if (!flags.common.json) return Outcome{.text = FormatAll(response)};
    CLIENT_ASSIGN_OR_RETURN(outcome.text, MessageJson(response));
    return outcome;
  }
  CLIENT_ASSIGN_OR_RETURN(const v1::SchemeDescription scheme,
                          Find(response, flags.name));
  if (!flags.common.json) return Outcome{.text = FormatOne(scheme)};
  CLIENT_ASSIGN_OR_RETURN(outcome.text, MessageJson(scheme));
  return outcome;
}

}  // namespace

void AddSchemes(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "schemes", "List all schemes, or describe one in detail");
  command->footer(kSchemesExamples);
  auto flags = std::make_shared<SchemesFlags>();
  command
      ->add_option("name", flags->name,
                   "Scheme to describe; default: list all schemes")
      ->type_name("SCHEME");
  command->add_flag("--markdown", flags->markdown,
                    "Print the list as a Markdown table");
  AddCommonFlags(*command, flags->common);
  command->callback(
      [flags, &action] { action = [flags] { return Run(*flags); }; });
}

}  // namespace locus::client
