#include "client/report/page_style.h"

#include "absl/strings/str_cat.h"
#include "client/plot/theme.h"

namespace locus::client {
namespace {

using plot::ColorOf;
using plot::HexColor;
using plot::Role;
using plot::Theme;

// Returns the colours of the charts as CSS variables, for use by the page.
std::string Variables(Theme theme) {
  return absl::StrCat("--paper:", HexColor(ColorOf(Role::kPaper, theme)),
                      ";--ink:", HexColor(ColorOf(Role::kInk, theme)),
                      ";--quiet:", HexColor(ColorOf(Role::kQuiet, theme)),
                      ";--line:", HexColor(ColorOf(Role::kGrid, theme)),
                      ";--accent:", HexColor(ColorOf(Role::kSeries, theme)),
                      ";--bad:", HexColor(ColorOf(plot::SeriesRole(9), theme)));
}

constexpr char kRules[] = R"(
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 $FONT}
main{max-width:860px;margin:0 auto;padding:2rem 1rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:.1rem 0 .6rem}
h2{font-size:1.15rem;margin:2.2rem 0 .6rem}
.kicker{color:var(--quiet);font-size:.85rem;margin:0}
header p:last-child{font-size:1.05rem;max-width:42rem}
.verdict{border-left:4px solid var(--accent);padding:.2rem 0 .2rem 1rem;margin:1.4rem 0}
.verdict p{margin:.3rem 0;max-width:44rem;overflow-wrap:anywhere}
.winner{font-size:1.35rem;font-weight:600}
.partial,.failed{color:var(--bad)}
figure{margin:1.6rem 0;border-top:1px solid var(--line);padding-top:.4rem;overflow-x:auto}
figure svg{display:block;width:100%;min-width:34rem;height:auto}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .6rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
thead th{color:var(--quiet);font-weight:500;font-size:.82rem}
tbody th{font-weight:500}
th.n,.n{text-align:right;white-space:nowrap}
small{color:var(--quiet);font-size:.8em}
details{margin:1rem 0;border-top:1px solid var(--line);padding-top:.6rem}
summary{cursor:pointer;font-weight:600}
pre{overflow-x:auto;font-size:.82rem;line-height:1.4}
a{color:var(--accent)}
@media (max-width:40rem){main{padding:1rem .8rem 3rem}figure svg{min-width:30rem}}
@media print{main{max-width:none;padding:0}figure,tr{break-inside:avoid}figure svg{min-width:0}}
)";

}  // namespace

std::string PageStyle() {
  std::string rules = kRules;
  const size_t at = rules.find("$FONT");
  rules.replace(at, 5, plot::kFontStack);
  return absl::StrCat(":root{", Variables(Theme::kLight),
                      "}@media (prefers-color-scheme: dark){:root{",
                      Variables(Theme::kDark), "}}", rules,
                      plot::RoleStyles(Theme::kAuto));
}

}  // namespace locus::client
