// The report of a lab: its story, assertions, figures and results.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "client/cli/labs/text.h"
#include "client/plot/scene.h"
#include "nlohmann/json.hpp"

namespace locus::client {

// Breaks a paragraph into lines of at most `width` characters of UTF-8.
std::string WrapText(absl::string_view text, size_t width);

// Collects what a lab finds. Not thread-safe.
class LabReport {
 public:
  struct Assertion {
    bool passed = false;
    std::string claim;
  };
  struct Figure {
    // File name without extension.
    std::string name;
    std::string caption;
    plot::Scene scene;
  };

  explicit LabReport(Language language) : language_(language) {}

  Language language() const { return language_; }

  // Begins a part of the story.
  void Heading(const Text& text);
  // Adds a paragraph to the story.
  template <typename... Arguments>
  void Say(const Text& text, const Arguments&... arguments) {
    AddParagraph(Format(text, arguments...));
  }
  // Adds lines to the story as they are, such as a table.
  void Show(absl::string_view lines);
  // Adds an assertion to the story: PASS or FAIL, and the claim with its
  // numbers.
  template <typename... Arguments>
  void Assert(bool passed, const Text& claim, const Arguments&... arguments) {
    AddAssertion(passed, Format(claim, arguments...));
  }
  // Adds a paragraph to the interpretation in the README.
  template <typename... Arguments>
  void Interpret(const Text& text, const Arguments&... arguments) {
    interpretation_.push_back(Format(text, arguments...));
  }
  template <typename... Arguments>
  void AddFigure(std::string name, plot::Scene scene, const Text& caption,
                 const Arguments&... arguments) {
    figures_.push_back(
        {std::move(name), Format(caption, arguments...), std::move(scene)});
  }

  // The values of `config` and `results_summary` in the manifest.
  nlohmann::ordered_json& config() { return config_; }
  nlohmann::ordered_json& results() { return results_; }
  const nlohmann::ordered_json& config() const { return config_; }
  const nlohmann::ordered_json& results() const { return results_; }

  const std::string& story() const { return story_; }
  const std::vector<Assertion>& assertions() const { return assertions_; }
  const std::vector<std::string>& interpretation() const {
    return interpretation_;
  }
  const std::vector<Figure>& figures() const { return figures_; }
  int failed_count() const;

  // The text in the language of the report, with its arguments.
  template <typename... Arguments>
  std::string Format(const Text& text, const Arguments&... arguments) const {
    return absl::Substitute(text.In(language_), arguments...);
  }

 private:
  void AddParagraph(absl::string_view text);
  void AddAssertion(bool passed, std::string claim);

  const Language language_;
  std::string story_;
  std::vector<Assertion> assertions_;
  std::vector<std::string> interpretation_;
  std::vector<Figure> figures_;
  nlohmann::ordered_json config_ = nlohmann::ordered_json::object();
  nlohmann::ordered_json results_ = nlohmann::ordered_json::object();
};

}  // namespace locus::client
