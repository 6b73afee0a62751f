// Tables whose columns are laid out in blocks that fit the terminal.
#pragma once

#include <string>
#include <vector>

namespace locus::client {

// The cells of one column, its heading first.
using TableColumn = std::vector<std::string>;

// Columns that stay together, such as the numbers of one scheme.
using ColumnGroup = std::vector<TableColumn>;

// A table of `labels`, the first column, and as many groups beside it as fit
// into `width` columns. The other groups follow in further blocks below, each
// with the labels repeated. A group wider than the terminal has a block of its
// own. Cells are escaped as by FormatRows().
std::string FormatColumnBlocks(const TableColumn& labels,
                               const std::vector<ColumnGroup>& groups,
                               int width);

}  // namespace locus::client
