#include "server/config/flag_docs.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace locus::server {
namespace {

// A dash is a dash, and a line that begins with a dot is no request.
std::string Escaped(absl::string_view text) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!out.empty()) out += '\n';
    if (absl::StartsWith(line, ".") || absl::StartsWith(line, "'")) {
      out += "\\&";
    }
    absl::StrAppend(&out,
                    absl::StrReplaceAll(line, {{"\\", "\\e"}, {"-", "\\-"}}));
  }
  return out;
}

std::string BashCompletion(const std::vector<FlagText>& flags) {
  const std::string names =
      absl::StrJoin(flags, " ", [](std::string* out, const FlagText& flag) {
        absl::StrAppend(out, "--", flag.name, "=");
      });
  return absl::StrReplaceAll(R"(# Made by: locusd --completion=bash
_locusd() {
  local current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  # Bash takes --flag=value for three words.
  if [[ $current == '=' || ${COMP_WORDS[COMP_CWORD - 1]} == '=' ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "${current#=}")
  else
    compopt -o nospace
    mapfile -t COMPREPLY < <(compgen -W "FLAGS" -- "$current")
  fi
}
complete -F _locusd locusd
)",
                             {{"FLAGS", names}});
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string ZshCompletion(const std::vector<FlagText>& flags) {
  std::string script = "#compdef locusd\n# Made by: locusd --completion=zsh\n";
  absl::StrAppend(&script, "_arguments");
  for (const FlagText& flag : flags) {
    const std::string help = absl::StrReplaceAll(
        flag.help, {{"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
    absl::StrAppend(
        &script, " \\\n  ",
        Quoted(absl::StrCat("--", flag.name, "=[", help, "]:value:_files")));
  }
  return script + "\n";
}

std::string FishCompletion(const std::vector<FlagText>& flags) {
  std::string script = "# Made by: locusd --completion=fish\n";
  for (const FlagText& flag : flags) {
    absl::StrAppend(&script, "complete -c locusd -l ", flag.name, " -r -d ",
                    Quoted(flag.help), "\n");
  }
  return script;
}

}  // namespace

std::string ManualPage(const std::vector<FlagText>& flags,
                       absl::string_view notes) {
  std::string page = absl::StrCat(
      ".TH LOCUSD 8 \"\" \"locusd ", LOCUS_VERSION,
      "\"\n.SH NAME\nlocusd \\- positional encodings and attention as a "
      "service\n.SH SYNOPSIS\n\\fBlocusd\\fR [\\fIOPTION\\fR]...\n"
      ".SH DESCRIPTION\nServes locus.v1 by gRPC, with grpc.health.v1 and "
      "reflection, and by HTTP /metrics, /healthz and /readyz. On SIGTERM it "
      "finishes the calls in flight and exits with 0; a flag that is wrong or "
      "an address that is taken ends it with 2.\n.SH OPTIONS\n");
  for (const FlagText& flag : flags) {
    absl::StrAppend(&page, ".TP\n\\fB\\-\\-", Escaped(flag.name),
                    "\\fR=\\fIVALUE\\fR\n", Escaped(flag.help), "\n");
  }
  absl::StrAppend(&page, ".SH NOTES\n.nf\n", Escaped(notes),
                  ".fi\n.SH SEE ALSO\n\\fBlocus\\fR(1)\n");
  return page;
}

std::string Completion(absl::string_view shell,
                       const std::vector<FlagText>& flags) {
  if (shell == "bash") return BashCompletion(flags);
  if (shell == "zsh") return ZshCompletion(flags);
  if (shell == "fish") return FishCompletion(flags);
  return "";
}

}  // namespace locus::server
