#include "client/plot/svg.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/plot/png.h"
#include "client/plot/text.h"

namespace locus::client::plot {
namespace {

// Formats a coordinate with a resolution of 0.01 pixels.
std::string Coordinate(double value) {
  std::string text = absl::StrFormat("%.2f", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

// Writes the elements of one document.
class SvgWriter {
 public:
  std::string Write(const Scene& scene, const SvgOptions& options) {
    absl::StrAppend(
        &svg_, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ",
        Coordinate(scene.width), " ", Coordinate(scene.height), "\"");
    // Within a page the style sheet sets the size.
    if (!options.embedded) {
      absl::StrAppend(&svg_, " width=\"", Coordinate(scene.width),
                      "\" height=\"", Coordinate(scene.height), "\"");
    }
    absl::StrAppend(&svg_, " role=\"img\" font-family=\"", kFontStack,
                    "\">\n<title>", Escape(scene.title), "</title>\n<desc>",
                    Escape(scene.description), "</desc>\n");
    AddMetadata(scene.provenance);
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
  void AddMetadata(const Provenance& provenance) {
    if (provenance.command.empty()) return;
    absl::StrAppend(&svg_, "<metadata>command: ", Escape(provenance.command),
                    "\nsoftware: ", Escape(provenance.software),
                    "</metadata>\n");
  }

  void Attribute(absl::string_view name, absl::string_view value) {
    absl::StrAppend(&svg_, " ", name, "=\"", value, "\"");
  }

  // Adds a colour as an attribute, or the CSS class of its role to `classes`.
  void AddColor(absl::string_view property, absl::string_view class_prefix,
                const Color& color, std::string& classes) {
    if (const Role* role = std::get_if<Role>(&color)) {
      absl::StrAppend(&classes, classes.empty() ? "" : " ", class_prefix,
                      static_cast<int>(*role));
    } else if (const Rgb* rgb = std::get_if<Rgb>(&color)) {
      Attribute(property, HexColor(*rgb));
    } else if (const ThemedRgb* themed = std::get_if<ThemedRgb>(&color)) {
      // Renderers without CSS variables use the attribute.
      Attribute(property, HexColor(themed->light));
      absl::StrAppend(&classes, classes.empty() ? "" : " ", "lv");
      Attribute("style", absl::StrCat("--l:", HexColor(themed->light),
                                      ";--d:", HexColor(themed->dark)));
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
      Attribute("stroke-width", Coordinate(style.stroke_width));
      Attribute("stroke-linejoin", "round");
    }
    if (const int count = DashCount(style.dashes); count > 0) {
      Attribute(
          "stroke-dasharray",
          absl::StrJoin(style.dashes.begin(), style.dashes.begin() + count, " ",
                        [](std::string* out, double length) {
                          out->append(Coordinate(length));
                        }));
    }
    if (style.opacity < 1) Attribute("opacity", Coordinate(style.opacity));
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
      absl::StrAppend(&data, data.empty() ? "M" : "L", Coordinate(point.x), " ",
                      Coordinate(point.y));
    }
    if (path.closed) data += "Z";
    svg_ += "<path";
    Attribute("d", data);
    AddStyle(path.style);
    Close("path", path.hover);
  }

  void Add(const Circle& circle) {
    svg_ += "<circle";
    Attribute("cx", Coordinate(circle.center.x));
    Attribute("cy", Coordinate(circle.center.y));
    Attribute("r", Coordinate(circle.radius));
    AddStyle(circle.style);
    Close("circle", circle.hover);
  }

  void Add(const Text& text) {
    svg_ += "<text";
    Attribute("x", Coordinate(text.at.x));
    Attribute("y", Coordinate(text.at.y));
    Attribute("font-size", Coordinate(text.size));
    if (text.anchor != Anchor::kStart) {
      Attribute("text-anchor",
                text.anchor == Anchor::kMiddle ? "middle" : "end");
    }
    if (text.bold) Attribute("font-weight", "600");
    if (text.degrees != 0) {
      Attribute("transform", absl::StrCat("rotate(", Coordinate(text.degrees),
                                          " ", Coordinate(text.at.x), " ",
                                          Coordinate(text.at.y), ")"));
    }
    AddStyle({.fill = text.color});
    absl::StrAppend(&svg_, ">", Escape(text.text), "</text>\n");
  }

  void Add(const Image& image) {
    if (image.raster.dark_pixels.empty()) {
      AddImage(image, Theme::kLight, "");
    } else {
      AddImage(image, Theme::kLight, "li-l");
      AddImage(image, Theme::kDark, "li-d");
    }
  }

  void AddImage(const Image& image, Theme theme, absl::string_view css_class) {
    svg_ += "<image";
    AddBox(image.corner, image.width, image.height);
    if (!css_class.empty()) Attribute("class", css_class);
    Attribute("preserveAspectRatio", "none");
    Attribute("style", "image-rendering:pixelated");
    Attribute("href",
              absl::StrCat("data:image/png;base64,",
                           absl::Base64Escape(EncodePng(image.raster, theme))));
    svg_ += "/>\n";
  }

  void AddBox(Point corner, double width, double height) {
    Attribute("x", Coordinate(corner.x));
    Attribute("y", Coordinate(corner.y));
    Attribute("width", Coordinate(width));
    Attribute("height", Coordinate(height));
  }

  std::string svg_;
};

}  // namespace

std::string WriteSvg(const Scene& scene, const SvgOptions& options) {
  return SvgWriter().Write(scene, options);
}

}  // namespace locus::client::plot
