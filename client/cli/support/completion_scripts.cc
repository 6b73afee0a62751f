// Scripts that complete the commands and flags of the tree they were made from.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/support/command_tree.h"

namespace locus::client {
namespace {

bool IsFile(const OptionNode& option) {
  return absl::StrContains(option.value, "FILE") ||
         absl::StrContains(option.value, "FOLDER") ||
         absl::StrContains(option.value, "PATH");
}

std::string Names(const std::vector<CommandNode>& commands) {
  return absl::StrJoin(commands, " ", [](std::string* out, const auto& one) {
    absl::StrAppend(out, one.name);
  });
}

std::string Flags(const CommandNode& command) {
  std::vector<std::string> names;
  for (const OptionNode& option : command.options) {
    if (option.positional) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return absl::StrJoin(names, " ");
}

// One case for each command, by its path: what may follow, and which flags want
// a file or something else.
void AppendBash(const CommandNode& command, const std::string& path,
                std::string* out) {
  std::vector<std::string> files;
  std::vector<std::string> values;
  bool takes_files = false;
  for (const OptionNode& option : command.options) {
    if (option.positional) takes_files |= IsFile(option);
    if (option.positional || option.value.empty()) continue;
    auto& wanted = IsFile(option) ? files : values;
    wanted.insert(wanted.end(), option.names.begin(), option.names.end());
  }
  absl::StrAppend(out, "    \"", path, "\")\n      commands=\"",
                  Names(command.commands), "\"\n      flags=\"", Flags(command),
                  "\"\n      files=\" ", absl::StrJoin(files, " "),
                  " \"\n      values=\" ", absl::StrJoin(values, " "),
                  " \"\n      arguments=", takes_files ? "files" : "none",
                  " ;;\n");
  for (const CommandNode& one : command.commands) {
    AppendBash(one, absl::StrCat(path, path.empty() ? "" : " ", one.name), out);
  }
}

std::string Bash(const CommandNode& tree) {
  std::string cases;
  AppendBash(tree, "", &cases);
  return absl::StrReplaceAll(R"(# Made by: NAME completion bash
_NAME_of() {
  case $1 in
CASES    *) return 1 ;;
  esac
}

_NAME() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local path='' word i commands flags files values arguments
  _NAME_of ''
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ " $commands " == *" $word "* ]]; then
      path=${path:+$path }$word
      _NAME_of "$path"
    fi
  done
  COMPREPLY=()
  if [[ $files == *" $previous "* ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [[ $values == *" $previous "* ]]; then
    :
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  elif [[ $commands ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  elif [[ $arguments == files ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _NAME NAME
)",
                             {{"NAME", tree.name}, {"CASES", cases}});
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

void AppendFish(const CommandNode& command, const std::string& program,
                const std::string& path, std::string* out) {
  const std::string condition =
      absl::StrCat(" -n '__", program, "_is \"", path, "\"'");
  for (const CommandNode& one : command.commands) {
    absl::StrAppend(out, "complete -c ", program, condition, " -f -a ",
                    one.name, " -d ", Quoted(one.help), "\n");
    AppendFish(one, program,
               absl::StrCat(path, path.empty() ? "" : " ", one.name), out);
  }
  for (const OptionNode& option : command.options) {
    if (option.positional) continue;
    absl::StrAppend(out, "complete -c ", program, condition);
    for (const std::string& name : option.names) {
      const bool is_long = absl::StartsWith(name, "--");
      absl::StrAppend(out, is_long ? " -l " : " -s ",
                      name.substr(is_long ? 2 : 1));
    }
    if (!option.value.empty()) {
      absl::StrAppend(out, IsFile(option) ? " -r" : " -x");
    }
    absl::StrAppend(out, " -d ", Quoted(option.help), "\n");
  }
}

std::string Fish(const CommandNode& tree) {
  std::string names;
  const auto collect = [&names](const auto& self,
                                const CommandNode& at) -> void {
    for (const CommandNode& one : at.commands) {
      absl::StrAppend(&names, names.empty() ? "" : " ", one.name);
      self(self, one);
    }
  };
  collect(collect, tree);
  std::string script = absl::StrReplaceAll(
      R"(# Made by: NAME completion fish
function __NAME_is
    set -l path
    for word in (commandline -opc)[2..-1]
        contains -- $word WORDS; and set -a path $word
    end
    test "$path" = "$argv[1]"
end
)",
      {{"NAME", tree.name}, {"WORDS", names}});
  AppendFish(tree, tree.name, "", &script);
  return script;
}

}  // namespace

std::string CompletionScript(const CommandNode& tree,
                             const std::string& shell) {
  if (shell == "fish") return Fish(tree);
  if (shell == "bash") return Bash(tree);
  // zsh runs bash's.
  return absl::StrCat("#compdef ", tree.name,
                      "\nautoload -U +X bashcompinit && bashcompinit\n",
                      absl::StrReplaceAll(Bash(tree), {{"    compopt -o "
                                                        "filenames\n",
                                                        ""}}));
}

}  // namespace locus::client
