#include "client/report/page.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/plot/scale.h"
#include "client/plot/text.h"
#include "client/report/page_script.h"
#include "client/report/page_style.h"

namespace locus::client {

using plot::Escape;

std::string MakePage(const Page& page) {
  const std::string policy = absl::StrCat(
      "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; "
      "script-src 'sha256-",
      absl::Base64Escape(absl::HexStringToBytes(kPageScriptSha256)), "'");
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"",
      policy,
      "\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n<title>",
      Escape(page.title), "</title>\n<style>", PageStyle(),
      "</style>\n</head>\n<body>\n<main>\n<header><p class=\"kicker\">",
      Escape(page.kicker), "</p>\n<h1>", Escape(page.title), "</h1></header>\n",
      page.body, "</main>\n<script>", kPageScript,
      "</script>\n</body>\n</html>\n");
}

std::string CommandBox(absl::string_view command) {
  if (command.empty()) return "";
  return absl::StrCat("<p class=\"command\"><code>", Escape(command),
                      "</code></p>\n");
}

std::string FactsLine(const std::vector<std::string>& facts) {
  std::string html;
  for (const std::string& fact : facts) {
    if (fact.empty()) continue;
    absl::StrAppend(&html, html.empty() ? "" : " \xc2\xb7 ", Escape(fact));
  }
  return html.empty() ? ""
                      : absl::StrCat("<p class=\"facts\">", html, "</p>\n");
}

std::string Folded(absl::string_view summary, absl::string_view html) {
  return absl::StrCat("<details><summary>", Escape(summary), "</summary>\n",
                      html, "</details>\n");
}

std::string HtmlTable(absl::string_view id,
                      const std::vector<Heading>& headings,
                      const std::vector<std::string>& rows) {
  std::string html = absl::StrCat("<div class=\"scroll\"><table id=\"", id,
                                  "\" class=\"sort\"><thead><tr>");
  for (const Heading& heading : headings) {
    absl::StrAppend(&html, "<th scope=\"col\"",
                    heading.number ? " class=\"n\">" : ">",
                    Escape(heading.text), "</th>");
  }
  html += "</tr></thead><tbody>\n";
  for (const std::string& row : rows) {
    absl::StrAppend(&html, "<tr>", row, "</tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

std::string RowHeading(absl::string_view text) {
  return absl::StrCat("<th scope=\"row\">", Escape(text), "</th>");
}

std::string TextCell(absl::string_view text) {
  return absl::StrCat("<td>", Escape(text), "</td>");
}

std::string NumberCell(double value) {
  return FormattedCell(value, plot::ShortNumber(value));
}

std::string FormattedCell(double value, absl::string_view text) {
  double read = 0;
  const bool same = absl::SimpleAtod(text, &read) && read == value;
  return absl::StrCat(
      "<td class=\"n\"",
      same || !std::isfinite(value)
          ? ""
          : absl::StrCat(" title=\"", nlohmann::json(value).dump(), "\""),
      ">", Escape(text), "</td>");
}

}  // namespace locus::client
