#include "client/cli/requests/attend_request.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/npy.h"
#include "locus/client/tensor.h"
#include "tests/support/temporary_folder.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;

class AttendRequestTest : public ::testing::Test {
 protected:
  AttendRequestTest() { flags_.scheme.scheme = "rope"; }

  // Writes a .npy file of zeros and returns its path.
  std::string Write(const std::string& name,
                    const std::vector<int64_t>& shape) {
    const std::vector<float> values(
        *ElementCount(shape, v1::DATA_TYPE_FLOAT32));
    EXPECT_TRUE(
        WriteNpy(folder_.Path(name), *MakeTensor<float>(shape, values)).ok());
    return folder_.Path(name);
  }

  TemporaryFolder folder_;
  AttendFlags flags_;
};

TEST_F(AttendRequestTest, AddsBatchAndHeadAxesToMatrices) {
  flags_.q = flags_.k = flags_.v = Write("q.npy", {3, 4});
  const auto plan = MakeAttendPlan(flags_);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->added_axes, 2);
  EXPECT_THAT(plan->request.heads().k().shape(), ElementsAre(1, 1, 3, 4));
  v1::Tensor output = plan->request.heads().q();
  RemoveAddedAxes(plan->added_axes, &output);
  EXPECT_THAT(output.shape(), ElementsAre(3, 4));
}

TEST_F(AttendRequestTest, KeepsAxesOfOtherExtents) {
  v1::Tensor tensor = *MakeTensor<float>({2, 1}, {1, 2});
  RemoveAddedAxes(2, &tensor);
  EXPECT_THAT(tensor.shape(), ElementsAre(2, 1));
}

TEST_F(AttendRequestTest, RejectsDifferentRanks) {
  flags_.q = flags_.k = Write("q.npy", {3, 4});
  flags_.v = Write("v.npy", {1, 3, 4});
  EXPECT_FALSE(MakeAttendPlan(flags_).ok());
}

TEST_F(AttendRequestTest, ConvertsToDtype) {
  flags_.q = flags_.k = flags_.v = Write("q.npy", {3, 4});
  flags_.dtype = "bfloat16";
  EXPECT_EQ(MakeAttendPlan(flags_)->request.heads().v().dtype(),
            v1::DATA_TYPE_BFLOAT16);
  flags_.dtype = "bool";
  EXPECT_FALSE(MakeAttendPlan(flags_).ok());
}

TEST_F(AttendRequestTest, SplitsTokensAtWhitespace) {
  flags_.tokens = "  the cat\tsat ";
  flags_.head_count = 2;
  const auto plan = MakeAttendPlan(flags_);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->request.module().tokens(),
              ElementsAre("the", "cat", "sat"));
  EXPECT_EQ(plan->request.module().head_count(), 2);
}

TEST_F(AttendRequestTest, ReadsWeightsFromAFolder) {
  flags_.x = Write("x.npy", {3, 4});
  for (const char* name : {"wq.npy", "wk.npy", "wv.npy", "wo.npy"}) {
    Write(name, {4, 4});
  }
  flags_.weights_from = folder_.Path("");
  const auto plan = MakeAttendPlan(flags_);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->request.module().x().shape(), ElementsAre(1, 3, 4));
  EXPECT_THAT(plan->request.module().weights().wo().shape(), ElementsAre(4, 4));
}

TEST_F(AttendRequestTest, SetsOnlyOptionsThatAreGiven) {
  flags_.tokens = "a b";
  const auto bare = MakeAttendPlan(flags_);
  EXPECT_FALSE(bare->request.options().has_query_offset());
  EXPECT_FALSE(bare->request.options().has_scale());
  flags_.query_offset = 0;
  flags_.scale = 0;
  const auto set = MakeAttendPlan(flags_);
  EXPECT_TRUE(set->request.options().has_query_offset());
  EXPECT_TRUE(set->request.options().has_scale());
}

TEST_F(AttendRequestTest, RejectsConflictingInputs) {
  EXPECT_FALSE(MakeAttendPlan(flags_).ok());
  flags_.tokens = "a b";
  flags_.x = "x.npy";
  EXPECT_FALSE(MakeAttendPlan(flags_).ok());
  flags_.x = "";
  flags_.dtype = "float16";
  EXPECT_FALSE(MakeAttendPlan(flags_).ok());
  flags_.dtype = "";
  flags_.wq = "wq.npy";
  EXPECT_FALSE(MakeAttendPlan(flags_).ok());
}

}  // namespace
}  // namespace locus::client
