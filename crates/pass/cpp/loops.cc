// Loops: back edges without a count, and checks hoisted out of loops.
//
// Where nothing synchronises, one check of a range
// before a loop stands for all checks in it. An access qualifies if each iteration makes it, its
// address is invariant or steps by a constant, and the iterations' bytes leave no gap. The range is
// then moved out through the enclosing loops as long as the same holds for it.
//
// Invariants: a loop that holds anything that may synchronise, not return, or throw is left alone,
// so a check never claims what does not happen; the exception (a gap bridged between two statements
// whose distance may exceed the whole range) is marked inexact.
// Cost: one ScalarEvolution per function with loops; linear in accesses, quadratic in one loop's group.
#include "shim.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include <map>
#include <tuple>
#include <vector>

using namespace llvm;

namespace {
constexpr uint64_t FewestTrips = 32; // below, a call for the range costs more than the inlined checks
constexpr uint64_t Unknown = 1 << 20;
constexpr int64_t FarthestMerge = 4096;

TargetLibraryInfoImpl &libraryInfo(const Function &F) {
  static TargetLibraryInfoImpl Info(F.getParent()->getTargetTriple());
  return Info;
}

struct Loops {
  DominatorTree DT;
  LoopInfo LI;
  AssumptionCache AC;
  TargetLibraryInfo TLI;
  ScalarEvolution SE;
  explicit Loops(Function &F) : DT(F), LI(DT), AC(F), TLI(libraryInfo(F), &F), SE(F, TLI, AC, DT, LI) {}
};

// A check on its way out: it stands before the terminator of (or, at first, inside) `Block`.
struct Moving {
  BasicBlock *Block;
  const SCEV *Start;
  Instruction *Point = nullptr; // null: still at its statement
};

class Hoister {
public:
  Hoister(Function &F, Loops &A, ArrayRef<DhAccess> Accesses, DhHoistedFn Hoisted, void *Context)
      : A(A), SE(A.SE), Expander(A.SE, "dh"), Accesses(Accesses), Hoisted(Hoisted), Context(Context),
        I64(Type::getInt64Ty(F.getContext())), Placed(Accesses.size()) {}

  void run() {
    std::vector<Moving> Where;
    std::map<std::tuple<Loop *, bool, const SCEV *>, std::vector<uint32_t>> Stepping;
    for (uint32_t N = 0; N < Accesses.size(); N++) {
      const DhAccess &Access = Accesses[N];
      Moving M{unwrap<Instruction>(Access.at)->getParent(), nullptr};
      Loop *L = A.LI.getLoopFor(M.Block);
      if (L && shape(L) != Never) {
        M.Start = SE.getSCEV(unwrap(Access.pointer));
        for (; L && eachTime(M.Block, L) && SE.isLoopInvariant(M.Start, L); L = L->getParentLoop())
          leave(M, L);
        auto *Step = dyn_cast<SCEVAddRecExpr>(M.Start);
        if (L && Step && Step->getLoop() == L && Step->isAffine() && shape(L) == Counted && eachTime(M.Block, L) &&
            stepOf(Step) != 0)
          Stepping[{L, Access.write != 0, Step->getStepRecurrence(SE)}].push_back(N);
      }
      Where.push_back(M);
    }
    // Deterministic order: by the first access of each group, not by pointers.
    std::vector<std::vector<uint32_t>> Groups;
    for (auto &G : Stepping)
      Groups.push_back(G.second);
    std::sort(Groups.begin(), Groups.end());
    for (auto &G : Groups)
      mergeByDistance(G, Where);
    hoistInvariant(Where);
  }

private:
  enum Shape { Never, AtHeader, Counted };

  // Never: something in it synchronises or may not come back. Counted: it ends only at its latch,
  // after a number of trips known before. AtHeader: only the header surely runs.
  Shape shape(Loop *L) {
    auto [It, New] = Shapes.try_emplace(L, Never);
    if (!New)
      return It->second;
    Shape S = Never;
    if (L->getLoopPreheader() && L->getLoopLatch() && !interrupted(L))
      S = L->getExitingBlock() == L->getLoopLatch() && !isa<SCEVCouldNotCompute>(SE.getBackedgeTakenCount(L))
              ? Counted
              : AtHeader;
    return Shapes[L] = S;
  }

  static bool interrupted(Loop *L) {
    for (BasicBlock *BB : L->blocks())
      for (Instruction &I : *BB) {
        if (dh_may_synchronise(wrap(&I)))
          return true;
        auto *C = dyn_cast<CallBase>(&I);
        if (C && !isa<IntrinsicInst>(C) && !(C->doesNotThrow() && C->hasFnAttr(Attribute::WillReturn)))
          return true;
      }
    return false;
  }

  bool eachTime(BasicBlock *BB, Loop *L) {
    Shape S = shape(L);
    return S != Never && A.DT.dominates(BB, L->getLoopLatch()) && (S == Counted || BB == L->getHeader());
  }

  static void leave(Moving &M, Loop *L) {
    M.Block = L->getLoopPreheader();
    M.Point = M.Block->getTerminator();
  }

  int64_t stepOf(const SCEVAddRecExpr *R) {
    auto *C = dyn_cast<SCEVConstant>(R->getStepRecurrence(SE));
    return C && C->getAPInt().getSignificantBits() <= 32 ? C->getAPInt().getSExtValue() : 0;
  }

  uint64_t trips(Loop *L) {
    unsigned N = SE.getSmallConstantTripCount(L);
    if (!N)
      N = SE.getSmallConstantMaxTripCount(L);
    return N ? N : Unknown;
  }

  // Splits accesses of one loop and step into chains whose bytes meet, lowest address first.
  void mergeByDistance(const std::vector<uint32_t> &Group, const std::vector<Moving> &Where) {
    std::vector<bool> Used(Group.size());
    for (size_t I = 0; I < Group.size(); I++) {
      if (Used[I])
        continue;
      auto *First = cast<SCEVAddRecExpr>(Where[Group[I]].Start);
      std::vector<std::pair<int64_t, uint32_t>> Near;
      for (size_t J = I; J < Group.size(); J++) {
        if (Used[J])
          continue;
        auto *Other = cast<SCEVAddRecExpr>(Where[Group[J]].Start);
        auto *D = dyn_cast<SCEVConstant>(SE.getMinusSCEV(Other->getStart(), First->getStart()));
        if (!D || D->getAPInt().getSignificantBits() > 32 || std::abs(D->getAPInt().getSExtValue()) > FarthestMerge)
          continue;
        Near.push_back({D->getAPInt().getSExtValue(), Group[J]});
        Used[J] = true;
      }
      std::sort(Near.begin(), Near.end());
      int64_t Stride = std::abs(stepOf(First));
      Loop *L = const_cast<Loop *>(First->getLoop());
      for (size_t From = 0, To; From < Near.size(); From = To) {
        int64_t Low = Near[From].first, High = Low + Accesses[Near[From].second].size;
        bool Bridged = false;
        for (To = From + 1; To < Near.size(); To++) {
          int64_t Gap = Near[To].first - High;
          bool Bridge = Gap > 0 && High - Low >= Stride && Gap <= 4 * Stride;
          if (Gap > 0 && !Bridge)
            break;
          Bridged |= Bridge && SE.getSmallConstantTripCount(L) < 5;
          High = std::max(High, Near[To].first + (int64_t)Accesses[Near[To].second].size);
        }
        if (High - Low >= Stride)
          range(L, Where[Near[From].second], ArrayRef<std::pair<int64_t, uint32_t>>(Near).slice(From, To - From), High - Low, Bridged);
      }
    }
  }

  // One range check for a chain of accesses, as far out as it may go.
  void range(Loop *L, const Moving &Lowest, ArrayRef<std::pair<int64_t, uint32_t>> Chain, int64_t Width, bool Inexact) {
    auto *R = cast<SCEVAddRecExpr>(Lowest.Start);
    int64_t Step = stepOf(R), Stride = std::abs(Step);
    const SCEV *Span = SE.getMulExpr(SE.getTruncateOrZeroExtend(SE.getBackedgeTakenCount(L), I64),
                                     SE.getConstant(I64, Stride));
    const SCEV *Start = SE.getPtrToIntExpr(R->getStart(), I64);
    if (Step < 0)
      Start = SE.getMinusSCEV(Start, Span);
    const SCEV *Length = SE.getAddExpr(Span, SE.getConstant(I64, Width));
    struct Stage {
      Instruction *Point;
      const SCEV *Start, *Length;
      uint64_t Trips;
      bool Inexact;
    };
    Stage Now{L->getLoopPreheader()->getTerminator(), Start, Length, trips(L), Inexact};
    std::vector<Stage> Stages{Now};
    for (Loop *Q = L->getParentLoop(); Q; Q = Q->getParentLoop()) {
      if (!eachTime(Now.Point->getParent(), Q) || !SE.isLoopInvariant(Now.Length, Q))
        break;
      if (!SE.isLoopInvariant(Now.Start, Q)) {
        auto *Outer = dyn_cast<SCEVAddRecExpr>(Now.Start);
        auto *Fixed = dyn_cast<SCEVConstant>(Now.Length);
        if (shape(Q) != Counted || !Outer || Outer->getLoop() != Q || !Outer->isAffine() || !Fixed)
          break;
        int64_t OuterStep = stepOf(Outer);
        if (OuterStep <= 0 || OuterStep > Fixed->getAPInt().getSExtValue())
          break;
        Now.Start = Outer->getStart();
        Now.Length = SE.getAddExpr(SE.getMulExpr(SE.getTruncateOrZeroExtend(SE.getBackedgeTakenCount(Q), I64),
                                                 SE.getConstant(I64, OuterStep)),
                                   Now.Length);
        Now.Inexact |= OuterStep % Stride != 0;
        Now.Trips = std::min(Now.Trips * trips(Q), Unknown);
      }
      Now.Point = Q->getLoopPreheader()->getTerminator();
      Stages.push_back(Now);
    }
    for (; !Stages.empty(); Stages.pop_back()) {
      Stage &S = Stages.back();
      if (S.Trips < FewestTrips || !Expander.isSafeToExpandAt(S.Start, S.Point) ||
          !Expander.isSafeToExpandAt(S.Length, S.Point))
        continue;
      std::vector<DhCovered> Covered;
      for (auto &[Offset, N] : Chain) {
        Covered.push_back({N, int32_t(Offset - Chain.front().first), uint32_t(Stride)});
        Placed[N] = true;
      }
      Value *From = Expander.expandCodeFor(S.Start, I64, S.Point), *Bytes = Expander.expandCodeFor(S.Length, I64, S.Point);
      report(S.Point, From, Bytes, S.Inexact, Covered);
      return;
    }
  }

  // What left its loops with an invariant address and joined no range: one check per place and address.
  void hoistInvariant(const std::vector<Moving> &Where) {
    std::map<std::tuple<Instruction *, Value *, uint32_t, uint32_t>, size_t> Seen;
    std::vector<std::vector<DhCovered>> Checks;
    for (uint32_t N = 0; N < Accesses.size(); N++) {
      if (Placed[N] || !Where[N].Point)
        continue;
      Value *P = unwrap(Accesses[N].pointer);
      if (auto *I = dyn_cast<Instruction>(P); I && !A.DT.dominates(I, Where[N].Point))
        continue; // invariant by value, but computed inside
      auto [It, New] = Seen.insert({{Where[N].Point, P, Accesses[N].write, Accesses[N].size}, Checks.size()});
      if (New)
        Checks.emplace_back();
      Checks[It->second].push_back({N, 0, 0});
    }
    for (auto &Covered : Checks) {
      uint32_t N = Covered.front().access;
      report(Where[N].Point, unwrap(Accesses[N].pointer), nullptr, false, Covered);
    }
  }

  void report(Instruction *Point, Value *Start, Value *Length, bool Inexact, const std::vector<DhCovered> &Covered) {
    DhHoisted Check{wrap(Point), wrap(Start), wrap(Length), Accesses[Covered.front().access].write,
                    Inexact, Covered.data(), Covered.size()};
    Hoisted(Context, &Check);
  }

  Loops &A;
  ScalarEvolution &SE;
  SCEVExpander Expander;
  ArrayRef<DhAccess> Accesses;
  DhHoistedFn Hoisted;
  void *Context;
  Type *I64;
  std::vector<bool> Placed;
  DenseMap<Loop *, Shape> Shapes;
};
} // namespace

namespace {
// Whether a loop ends, or crashes, by itself, whatever other threads do: then it is no spin loop, and its
// back edges need no count. True if each of its exits is tested on nothing but what moves on with the
// iterations, and one of them every time round: an exit whose count is known, or one that compares memory
// read at an address that steps by a constant with something fixed. Such an address cannot come round again
// before the thread has run off the end of the mapped memory.
// An exit that reads the same place again, or depends on what a call returned or a volatile or atomic access
// saw, may wait for another thread; so a bounded wait is counted too.
class Advancing {
public:
  explicit Advancing(Loops &A) : A(A), SE(A.SE) {}

  bool ends(Loop *L) {
    SmallVector<BasicBlock *, 4> Exiting, Latches;
    L->getExitingBlocks(Exiting);
    L->getLoopLatches(Latches);
    bool Each = false;
    for (BasicBlock *BB : Exiting) {
      auto *Branch = dyn_cast<BranchInst>(BB->getTerminator());
      if (A.LI.getLoopFor(BB) != L || !Branch || !Branch->isConditional())
        return false;
      if (isa<SCEVCouldNotCompute>(SE.getExitCount(L, BB)) && !moves(Branch->getCondition(), L))
        return false;
      Each |= all_of(Latches, [&](BasicBlock *Latch) { return A.DT.dominates(BB, Latch); });
    }
    return Each;
  }

private:
  // A comparison of one side that advances with one that is fixed.
  bool moves(Value *Condition, Loop *L) {
    auto *Compare = dyn_cast<ICmpInst>(Condition);
    if (!Compare)
      return false;
    for (unsigned Side : {0, 1})
      if (SE.isSCEVable(Compare->getOperand(1 - Side)->getType()) &&
          SE.isLoopInvariant(SE.getSCEV(Compare->getOperand(1 - Side)), L) && advances(Compare->getOperand(Side), L))
        return true;
    return false;
  }

  // What is read at an address that is another each time round, or computed from that alone.
  bool advances(Value *V, Loop *L, unsigned Depth = 0) {
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !L->contains(I) || Depth > 4)
      return false;
    if (auto *Load = dyn_cast<LoadInst>(I))
      return Load->isSimple() && A.LI.getLoopFor(Load->getParent()) == L && steps(Load->getPointerOperand(), L);
    if (isa<CastInst>(I))
      return advances(I->getOperand(0), L, Depth + 1);
    if (isa<BinaryOperator>(I) && isa<Constant>(I->getOperand(1)))
      return advances(I->getOperand(0), L, Depth + 1);
    return false;
  }

  bool steps(Value *Pointer, Loop *L) {
    auto *R = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(Pointer));
    if (!R || R->getLoop() != L || !R->isAffine())
      return false;
    auto *Step = dyn_cast<SCEVConstant>(R->getStepRecurrence(SE));
    return Step && !Step->isZero();
  }

  Loops &A;
  ScalarEvolution &SE;
};
} // namespace

// Calls `found` with the terminator of each latch of each loop whose trip count is not known at entry, and
// that does not end by itself.
extern "C" void dh_uncounted_back_edges(LLVMValueRef function, DhBackEdgeFn found, void *context) {
  Function &F = *unwrap<Function>(function);
  if (F.size() < 2 && !is_contained(successors(&F.getEntryBlock()), &F.getEntryBlock()))
    return;
  {
    DominatorTree DT(F);
    if (LoopInfo(DT).empty())
      return;
  }
  Loops A(F);
  for (Loop *L : A.LI.getLoopsInPreorder()) {
    if (!isa<SCEVCouldNotCompute>(A.SE.getBackedgeTakenCount(L)) || Advancing(A).ends(L))
      continue;
    SmallVector<BasicBlock *, 4> Latches;
    L->getLoopLatches(Latches);
    for (BasicBlock *BB : Latches)
      found(context, wrap(BB->getTerminator()));
  }
}

// Hoists checks of `accesses` out of the loops of `function` (whose loops are brought into simplified
// form first) and reports each hoisted check with the accesses it stands for.
extern "C" void dh_hoist(LLVMValueRef function, const DhAccess *accesses, size_t count, DhHoistedFn hoisted,
                         void *context) {
  Function &F = *unwrap<Function>(function);
  {
    DominatorTree DT(F);
    LoopInfo LI(DT);
    bool Any = false;
    for (size_t N = 0; N < count && !Any; N++)
      Any = LI.getLoopFor(unwrap<Instruction>(accesses[N].at)->getParent());
    if (!Any)
      return;
  }
  Loops A(F);
  for (Loop *L : A.LI)
    simplifyLoop(L, &A.DT, &A.LI, &A.SE, &A.AC, nullptr, false);
  Hoister(F, A, ArrayRef<DhAccess>(accesses, count), hoisted, context).run();
}
