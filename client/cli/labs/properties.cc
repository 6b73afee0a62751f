// The lab about the six desirable properties of position codes.
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/base/status_macros.h"
#include "client/cli/labs/lab_calls.h"
#include "client/cli/labs/properties_text.h"
#include "client/cli/render/table.h"
#include "client/plot/scene.h"

namespace locus::client {
namespace {

using PropertyMap = std::map<std::string, v1::PropertyResult>;

// Whether a property holds; nullopt if it is not defined.
std::optional<bool> Holds(const PropertyMap& results, const std::string& name) {
  const auto found = results.find(name);
  if (found == results.end()) return std::nullopt;
  switch (found->second.verdict()) {
    case v1::PROPERTY_VERDICT_HOLDS:
      return true;
    case v1::PROPERTY_VERDICT_FAILS:
      return false;
    default:
      return std::nullopt;
  }
}

// Whether two properties hold together, or at least one of them.
std::optional<bool> Both(std::optional<bool> a, std::optional<bool> b) {
  if (!a.has_value()) return b;
  if (!b.has_value()) return a;
  return *a && *b;
}
std::optional<bool> AnyOf(std::optional<bool> a, std::optional<bool> b) {
  if (!a.has_value()) return b;
  if (!b.has_value()) return a;
  return *a || *b;
}

// One row of the matrix.
struct SixProperties {
  std::string name;
  std::vector<std::optional<bool>> answers;  // in the order of the columns
  PropertyMap results;

  bool all() const {
    for (const std::optional<bool>& answer : answers) {
      if (!answer.value_or(false)) return false;
    }
    return true;
  }
};

SixProperties SixOf(const v1::SchemeProperties& scheme) {
  SixProperties six{.name = scheme.scheme_name()};
  for (const v1::PropertyResult& result : scheme.properties()) {
    six.results[result.property()] = result;
  }
  const PropertyMap& results = six.results;
  const std::optional<bool> unique = Holds(results, "uniqueness");
  std::optional<bool> relative =
      AnyOf(Holds(results, "shift_invariance"), Holds(results, "linear_shift"));
  std::optional<bool> bounded = Holds(results, "boundedness");
  // Without a code, statements about the code are empty.
  if (!unique.has_value()) relative = bounded = std::nullopt;
  six.answers = {unique,
                 bounded,
                 Holds(results, "determinism"),
                 Both(Holds(results, "open_endedness"),
                      Holds(results, "length_independence")),
                 Holds(results, "smoothness"),
                 relative};
  return six;
}

std::string MatrixRows(const std::vector<SixProperties>& schemes,
                       const LabReport& report) {
  std::vector<std::vector<std::string>> rows = {
      absl::StrSplit(report.Format(properties_text::kColumns), '|')};
  for (const SixProperties& scheme : schemes) {
    std::vector<std::string> row = {scheme.name};
    for (const std::optional<bool>& answer : scheme.answers) {
      row.push_back(!answer.has_value() ? "-"
                    : *answer ? report.Format(properties_text::kYesWord)
                              : "no");
    }
    rows.push_back(std::move(row));
  }
  return FormatRows(rows);
}

// A table with a filled cell and a check mark for each property that holds.
plot::Scene MatrixFigure(const std::vector<SixProperties>& schemes,
                         const LabReport& report) {
  constexpr double kLeft = 130;
  constexpr double kTop = 96;
  constexpr double kCellWidth = 100;
  constexpr double kCellHeight = 28;
  std::vector<std::string> columns =
      absl::StrSplit(report.Format(properties_text::kFigureColumns), '|');
  plot::Scene scene{
      .width = kLeft + kCellWidth * static_cast<double>(columns.size()) + 20,
      .height = kTop + kCellHeight * static_cast<double>(schemes.size()) + 20,
      .title = report.Format(properties_text::kFigureTitle),
      .description = report.Format(properties_text::kFigure)};
  const auto add = [&scene](double x, double y, std::string text, double size,
                            plot::Anchor anchor, plot::Role role, bool bold) {
    scene.shapes.push_back(plot::Text{.at = {x, y},
                                      .text = std::move(text),
                                      .size = size,
                                      .anchor = anchor,
                                      .color = role,
                                      .bold = bold});
  };
  add(20, 32, scene.title, 18, plot::Anchor::kStart, plot::Role::kInk, true);
  add(20, 54, scene.description, 12, plot::Anchor::kStart, plot::Role::kQuiet,
      false);
  for (size_t c = 0; c < columns.size(); ++c) {
    add(kLeft + kCellWidth * (static_cast<double>(c) + 0.5), kTop - 10,
        columns[c], 12, plot::Anchor::kMiddle, plot::Role::kInk, false);
  }
  for (size_t r = 0; r < schemes.size(); ++r) {
    const double y = kTop + kCellHeight * static_cast<double>(r);
    add(kLeft - 12, y + 18, schemes[r].name, 12, plot::Anchor::kEnd,
        plot::Role::kInk, false);
    for (size_t c = 0; c < schemes[r].answers.size(); ++c) {
      const std::optional<bool>& answer = schemes[r].answers[c];
      const double x = kLeft + kCellWidth * static_cast<double>(c);
      const bool holds = answer.value_or(false);
      scene.shapes.push_back(
          plot::Rect{.corner = {x + 1, y + 1},
                     .width = kCellWidth - 2,
                     .height = kCellHeight - 2,
                     .style = {.fill = !answer.has_value() ? plot::Role::kHidden
                                       : holds             ? plot::SeriesRole(0)
                                                           : plot::Role::kPaper,
                               .stroke = plot::Role::kGrid}});
      add(x + kCellWidth / 2, y + 18,
          !answer.has_value() ? "–"
          : holds             ? report.Format(properties_text::kYesWord)
                              : "no",
          12, plot::Anchor::kMiddle,
          holds ? plot::Role::kPaper : plot::Role::kQuiet, holds);
    }
  }
  return scene;
}

const SixProperties* FindSix(const std::vector<SixProperties>& schemes,
                             const std::string& name) {
  for (const SixProperties& scheme : schemes) {
    if (scheme.name == name) return &scheme;
  }
  return nullptr;
}

double MeasuredOf(const SixProperties& scheme, const std::string& property) {
  const auto found = scheme.results.find(property);
  return found == scheme.results.end() ? 0 : found->second.measured();
}

absl::Status AssertProperties(const v1::CheckPropertiesResponse& response,
                              const std::vector<SixProperties>& schemes,
                              LabReport& report) {
  int count = 0;
  int broken = 0;
  for (const v1::SchemeProperties& scheme : response.results()) {
    for (const v1::PropertyResult& result : scheme.properties()) {
      ++count;
      if (!result.as_promised()) ++broken;
    }
  }
  const SixProperties* sinusoidal = FindSix(schemes, "sinusoidal");
  const SixProperties* integer = FindSix(schemes, "integer");
  const SixProperties* normalised = FindSix(schemes, "normalised");
  const SixProperties* one_hot = FindSix(schemes, "one_hot");
  if (sinusoidal == nullptr || integer == nullptr || normalised == nullptr ||
      one_hot == nullptr) {
    return absl::InternalError("the server did not check all encodings");
  }
  report.Assert(broken == 0, properties_text::kPromisedClaim, count, broken);
  report.Assert(sinusoidal->all(), properties_text::kSinusoidalClaim);
  report.Assert(!Holds(integer->results, "boundedness").value_or(true),
                properties_text::kIntegerClaim,
                absl::StrFormat("%.0f", MeasuredOf(*integer, "boundedness")));
  report.Assert(
      !Holds(normalised->results, "length_independence").value_or(true),
      properties_text::kNormalisedClaim,
      absl::StrFormat("%.3f", MeasuredOf(*normalised, "length_independence")));
  report.Assert(
      !Holds(one_hot->results, "smoothness").value_or(true) &&
          !Holds(one_hot->results, "open_endedness").value_or(true),
      properties_text::kOneHotClaim,
      absl::StrFormat("%.2f", MeasuredOf(*one_hot, "smoothness")),
      absl::StrFormat("%.0f", MeasuredOf(*one_hot, "open_endedness")));
  report.results()["measurements"] = count;
  report.results()["broken_promises"] = broken;
  return absl::OkStatus();
}

void AddMatrixResults(const std::vector<SixProperties>& schemes,
                      LabReport& report) {
  const char* const keys[] = {"unique",        "bounded",
                              "deterministic", "generalises_to_unseen_lengths",
                              "smooth",        "relative_aware"};
  nlohmann::ordered_json matrix = nlohmann::ordered_json::object();
  std::vector<std::string> complete;
  for (const SixProperties& scheme : schemes) {
    for (size_t n = 0; n < scheme.answers.size(); ++n) {
      const std::optional<bool>& answer = scheme.answers[n];
      matrix[scheme.name][keys[n]] =
          answer.has_value() ? nlohmann::ordered_json(*answer) : nullptr;
    }
    if (scheme.all()) complete.push_back(scheme.name);
  }
  report.results()["matrix"] = matrix;
  report.Interpret(properties_text::kRead, absl::StrJoin(complete, ", "));
  report.Interpret(properties_text::kReadLimits);
}

absl::Status RunProperties(const LabOptions&, Client& client,
                           LabReport& report) {
  v1::CheckPropertiesRequest request;
  request.set_naive(true);
  CLIENT_ASSIGN_OR_RETURN(const v1::CheckPropertiesResponse response,
                          client.CheckProperties(request));
  std::vector<SixProperties> schemes;
  for (const v1::SchemeProperties& scheme : response.results()) {
    schemes.push_back(SixOf(scheme));
  }
  report.Heading(properties_text::kHeading);
  report.Say(properties_text::kSay);
  report.Show(MatrixRows(schemes, report));
  report.Say(properties_text::kLegend);
  CLIENT_RETURN_IF_ERROR(AssertProperties(response, schemes, report));
  report.Heading(properties_text::kCasesHeading);
  report.Say(properties_text::kCasesSay);
  PropertyMap cases = FindSix(schemes, "sinusoidal")->results;
  for (const char* property :
       {"uniqueness", "boundedness", "determinism", "open_endedness",
        "length_independence", "smoothness", "linear_shift"}) {
    report.Show(WrapText(
        absl::StrCat(property, ": ", cases[property].worked_case()), 79));
  }
  report.AddFigure("properties", MatrixFigure(schemes, report),
                   properties_text::kFigure);
  report.config()["schemes"] = schemes.size();
  AddMatrixResults(schemes, report);
  return absl::OkStatus();
}

}  // namespace

Lab PropertiesLab() {
  return {.name = "properties",
          .title = properties_text::kTitle,
          .summary = properties_text::kSummary,
          .questions = properties_text::kQuestions,
          .run = RunProperties};
}

}  // namespace locus::client
