#include "client/plot/svg.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/plot/png.h"
#include "client/plot/text.h"

namespace locus::client::plot {
namespace {

// A hundredth of a pixel is finer than any screen.
std::string Place(double value) {
  std::string text = absl::StrFormat("%.2f", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

class SvgWriter {
 public:
  std::string Write(const Scene& scene, const SvgOptions& options) {
    absl::StrAppend(&svg_,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ",
                    Place(scene.width), " ", Place(scene.height), "\"");
    // In a page the style sheet decides how wide; a file has its own size.
    if (!options.embedded) {
      absl::StrAppend(&svg_, " width=\"", Place(scene.width), "\" height=\"",
                      Place(scene.height), "\"");
    }
    absl::StrAppend(&svg_, " role=\"img\" font-family=\"", kFontStack,
                    "\">\n<title>", Escape(scene.title), "</title>\n<desc>",
                    Escape(scene.description), "</desc>\n");
    if (!options.embedded) {
      absl::StrAppend(&svg_, "<style>", RoleStyles(options.theme),
                      "</style>\n");
      Add(Rect{.width = scene.width,
               .height = scene.height,
               .style = {.fill = Role::kPaper}});
    }
    for (const Shape& shape : scene.shapes) {
      std::visit([this](const auto& each) { Add(each); }, shape);
    }
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

 private:
  void Attribute(absl::string_view name, absl::string_view value) {
    absl::StrAppend(&svg_, " ", name, "=\"", value, "\"");
  }

  // `classes` collects the names of roles.
  void AddColor(absl::string_view property, absl::string_view class_prefix,
                const Color& color, std::string& classes) {
    if (const Role* role = std::get_if<Role>(&color)) {
      absl::StrAppend(&classes, classes.empty() ? "" : " ", class_prefix,
                      static_cast<int>(*role));
    } else if (const Rgb* rgb = std::get_if<Rgb>(&color)) {
      Attribute(property, HexColor(*rgb));
    } else if (property == "fill") {
      Attribute("fill", "none");
    }
  }

  void AddStyle(const Style& style) {
    std::string classes;
    AddColor("fill", "lf-", style.fill, classes);
    AddColor("stroke", "ls-", style.stroke, classes);
    if (!classes.empty()) Attribute("class", classes);
    if (!std::holds_alternative<std::monostate>(style.stroke)) {
      Attribute("stroke-width", Place(style.stroke_width));
      Attribute("stroke-linejoin", "round");
    }
    if (const int count = DashCount(style.dashes); count > 0) {
      Attribute(
          "stroke-dasharray",
          absl::StrJoin(style.dashes.begin(), style.dashes.begin() + count, " ",
                        [](std::string* out, double length) {
                          out->append(Place(length));
                        }));
    }
    if (style.opacity < 1) Attribute("opacity", Place(style.opacity));
  }

  void Close(absl::string_view element, absl::string_view hover) {
    if (hover.empty()) {
      svg_ += "/>\n";
    } else {
      absl::StrAppend(&svg_, "><title>", Escape(hover), "</title></", element,
                      ">\n");
    }
  }

  void Add(const Rect& rect) {
    svg_ += "<rect";
    AddBox(rect.corner, rect.width, rect.height);
    AddStyle(rect.style);
    Close("rect", rect.hover);
  }

  void Add(const Path& path) {
    std::string data;
    for (const Point& point : path.points) {
      absl::StrAppend(&data, data.empty() ? "M" : "L", Place(point.x), " ",
                      Place(point.y));
    }
    if (path.closed) data += "Z";
    svg_ += "<path";
    Attribute("d", data);
    AddStyle(path.style);
    Close("path", path.hover);
  }

  void Add(const Circle& circle) {
    svg_ += "<circle";
    Attribute("cx", Place(circle.center.x));
    Attribute("cy", Place(circle.center.y));
    Attribute("r", Place(circle.radius));
    AddStyle(circle.style);
    Close("circle", circle.hover);
  }

  void Add(const Text& text) {
    svg_ += "<text";
    Attribute("x", Place(text.at.x));
    Attribute("y", Place(text.at.y));
    Attribute("font-size", Place(text.size));
    if (text.anchor != Anchor::kStart) {
      Attribute("text-anchor",
                text.anchor == Anchor::kMiddle ? "middle" : "end");
    }
    if (text.bold) Attribute("font-weight", "600");
    if (text.degrees != 0) {
      Attribute("transform",
                absl::StrCat("rotate(", Place(text.degrees), " ",
                             Place(text.at.x), " ", Place(text.at.y), ")"));
    }
    AddStyle({.fill = text.color});
    absl::StrAppend(&svg_, ">", Escape(text.text), "</text>\n");
  }

  void Add(const Image& image) {
    svg_ += "<image";
    AddBox(image.corner, image.width, image.height);
    Attribute("preserveAspectRatio", "none");
    Attribute("style", "image-rendering:pixelated");
    Attribute("href",
              absl::StrCat("data:image/png;base64,",
                           absl::Base64Escape(EncodePng(image.raster))));
    svg_ += "/>\n";
  }

  void AddBox(Point corner, double width, double height) {
    Attribute("x", Place(corner.x));
    Attribute("y", Place(corner.y));
    Attribute("width", Place(width));
    Attribute("height", Place(height));
  }

  std::string svg_;
};

}  // namespace

std::string WriteSvg(const Scene& scene, const SvgOptions& options) {
  return SvgWriter().Write(scene, options);
}

}  // namespace locus::client::plot
