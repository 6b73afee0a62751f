// Attention weights as a shaded map in the terminal.
#pragma once

#include <string>

#include "client/cli/render/table.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// The title, type and shape of the weights [..., Tq, Tk], and one map for each
// pair of the last two axes: a row per query, a column per key.
//
// With colour, the background of a cell shows the weight; weights of zero, such
// as those of hidden keys, have none. Without colour, one of the characters
// ░▒▓█ follows the number: the weight is at least 4, 16, 36 or 64 % of the
// largest weight of its map. Numbers have four decimals if they fit the width,
// else two, else they are left out. In a map that is still too wide or longer
// than 64 rows, a cell shows the largest weight of several queries and keys,
// and a line below the map says so.
//
// The tensor must have passed CheckTensor().
std::string FormatAttentionMap(const TensorTable& table,
                               const v1::Tensor& weights);

}  // namespace locus::client
