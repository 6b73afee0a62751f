// Helpers for tests of scenes.
#pragma once

#include <string>
#include <vector>

#include "client/plot/scene.h"
#include "client/plot/svg.h"
#include "client/plot/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client::plot {

// Returns all shapes of one type.
template <typename T>
std::vector<T> All(const Scene& scene) {
  std::vector<T> found;
  for (const Shape& shape : scene.shapes) {
    if (const T* each = std::get_if<T>(&shape)) found.push_back(*each);
  }
  return found;
}

struct Box {
  double left, right, top, bottom;
};

inline Box BoxOf(const Text& text) {
  const double width = TextWidth(text.text, text.size);
  const double left = text.at.x - (text.anchor == Anchor::kStart    ? 0
                                   : text.anchor == Anchor::kMiddle ? width / 2
                                                                    : width);
  return {left, left + width, text.at.y - 0.75 * text.size,
          text.at.y + 0.2 * text.size};
}

// Expects that horizontal texts neither overlap nor exceed the scene.
inline void ExpectNoOverlap(const Scene& scene) {
  const std::vector<Text> texts = All<Text>(scene);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].degrees != 0 || texts[i].text.empty()) continue;
    const Box a = BoxOf(texts[i]);
    EXPECT_GE(a.left, 0) << texts[i].text;
    EXPECT_LE(a.right, scene.width) << texts[i].text;
    EXPECT_GE(a.top, 0) << texts[i].text;
    EXPECT_LE(a.bottom, scene.height) << texts[i].text;
    for (size_t j = 0; j < i; ++j) {
      if (texts[j].degrees != 0 || texts[j].text.empty()) continue;
      const Box b = BoxOf(texts[j]);
      EXPECT_TRUE(a.right <= b.left || b.right <= a.left || a.bottom <= b.top ||
                  b.bottom <= a.top)
          << texts[i].text << " overlaps " << texts[j].text;
    }
  }
}

// Expects that an SVG has no coordinates that are not numbers.
inline void ExpectFinite(const Scene& scene) {
  const std::string svg = WriteSvg(scene);
  EXPECT_THAT(svg, ::testing::Not(::testing::HasSubstr("nan")));
  EXPECT_THAT(svg, ::testing::Not(::testing::HasSubstr("inf")));
}

}  // namespace locus::client::plot
