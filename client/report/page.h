// Parts of the HTML pages of reports, which evaluations and load tests share.
//
// A page is one file without external resources. Its script is an enhancement:
// without it, the page shows all charts and tables. A content security policy
// allows this one script, by its hash, and no network access.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace locus::client {

struct Page {
  // Title of the document and its first heading.
  std::string title;
  // Short line above the title.
  std::string kicker;
  // HTML of the page below the title.
  std::string body;
};

// Returns the HTML document.
std::string MakePage(const Page& page);

// Returns a box with a command line to copy; empty if there is none.
std::string CommandBox(absl::string_view command);

// Returns one line of short facts; empty ones are left out.
std::string FactsLine(const std::vector<std::string>& facts);

// Returns a part that is folded until the reader opens it.
std::string Folded(absl::string_view summary, absl::string_view html);

// Heading of a table column.
struct Heading {
  std::string text;
  // Numbers are aligned to the right.
  bool number = false;
};

// Returns a sortable table that scrolls horizontally on narrow screens. Each
// row is the HTML of its cells.
std::string HtmlTable(absl::string_view id,
                      const std::vector<Heading>& headings,
                      const std::vector<std::string>& rows);

// Returns table cells: a heading of a row, a text, and a rounded number. If
// rounding changes a number, the title of its cell has it in full.
std::string RowHeading(absl::string_view text);
std::string TextCell(absl::string_view text);
std::string NumberCell(double value);
// Returns a cell with a number that has been formatted, such as "1.2 ms". Rows
// are sorted by `value`.
std::string FormattedCell(double value, absl::string_view text);

}  // namespace locus::client
