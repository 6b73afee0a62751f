// Converts the cases of goldens.json to requests of core.
//
// make_goldens.py writes the file and documents its format. Inputs are exact in
// every floating-point type, so that every case can run in every type.
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

// The value of a number, or of a string such as "-inf".
double NumberOf(const Json& value);
// The numbers of a list or of a tensor in JSON.
std::vector<double> NumbersOf(const Json& value);
Shape ShapeOf(const Json& tensor);
// The elements of a floating-point tensor.
std::vector<double> NumbersOf(const TensorView& tensor);

// A request made from a case. Owns the bytes of its tensor views, which are
// valid as long as the request.
class Request {
 public:
  // `dtype` is the type of all tensors that are not boolean.
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
