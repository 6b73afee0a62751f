// The cases of goldens.json in core's terms.
//
// The file is written by make_goldens.py, which says what a case looks like.
// Its inputs are exact in every floating type, so that any case runs in any.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/attention/attention.h"
#include "core/attention/module.h"
#include "core/base/positions.h"
#include "core/base/tensor.h"
#include "core/encoding/encode.h"
#include "core/encoding/scheme.h"
#include "nlohmann/json.hpp"

namespace locus::golden {

using Json = nlohmann::json;

// The cases of a section: "random", "encode", "attend" or "module".
const Json& Section(const std::string& name);

// A number, or the string that stands for one JSON lacks.
double NumberOf(const Json& value);
// The numbers of a list or of a tensor.
std::vector<double> NumbersOf(const Json& value);
Shape ShapeOf(const Json& tensor);
// The numbers of any floating tensor.
std::vector<double> NumbersOf(const TensorView& tensor);

// A request made from a case, and the bytes that its views look at.
class Request {
 public:
  // `dtype`: of every tensor that is not bool.
  Request(const Json& json, DType dtype) : json_(json), dtype_(dtype) {}

  std::unique_ptr<Scheme> MakeScheme();
  EncodeOptions Encode();
  AttentionInputs Heads();
  ModuleInputs Module();
  AttentionOptions Options(int64_t query_count, int64_t key_count);

  // The largest position of the case.
  int64_t max_position() const;

 private:
  TensorView View(const Json& tensor);

  const Json& json_;
  const DType dtype_;
  std::deque<std::string> bytes_;
};

}  // namespace locus::golden
