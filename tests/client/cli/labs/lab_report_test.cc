#include "client/cli/labs/lab_report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;

TEST(WrapTextTest, CountsCharactersAndNotBytes) {
  EXPECT_EQ(WrapText("él actúa aquí", 8), "él actúa\naquí");
  EXPECT_EQ(WrapText("wonderful day", 4), "wonderful\nday");
}

TEST(LabReportTest, ArgumentsAreInsertedInTheChosenLanguage) {
  LabReport english(Language::kEnglish);
  LabReport spanish(Language::kSpanish);
  for (LabReport* report : {&english, &spanish}) {
    report->Say({"$0 of $1", "$0 de $1"}, 1, 2);
  }
  EXPECT_EQ(english.story(), "\n1 of 2\n");
  EXPECT_EQ(spanish.story(), "\n1 de 2\n");
}

TEST(LabReportTest, FailedAssertionsAreCounted) {
  LabReport report(Language::kEnglish);
  report.Assert(true, {"holds", "vale"});
  report.Assert(false, {"fails by $0", "falla por $0"}, 3);
  EXPECT_EQ(report.failed_count(), 1);
  EXPECT_EQ(report.assertions().size(), 2u);
  EXPECT_THAT(report.story(), HasSubstr("PASS  holds\n"));
  EXPECT_THAT(report.story(), HasSubstr("FAIL  fails by 3\n"));
}

}  // namespace
}  // namespace locus::client
