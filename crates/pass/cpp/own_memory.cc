// Memory that no other thread can reach or that nobody writes: accesses to it are not watched.
//
// Own: stack slots (also by-value arguments) and fresh heap blocks whose address is captured
// nowhere in the function, not even returned; thread-local variables of this unit whose address
// is captured nowhere. Constant: constant globals. Compiler-made: counters of profiling and coverage.
#include "shim.h"
#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {
bool threadLocalStaysHome(const GlobalVariable &G) {
  if (!G.hasLocalLinkage())
    return false;
  for (const User *U : G.users()) {
    auto *I = dyn_cast<IntrinsicInst>(U);
    if (!I || I->getIntrinsicID() != Intrinsic::threadlocal_address || PointerMayBeCaptured(I, true))
      return false;
  }
  return true;
}

bool isOwnObject(const Value *O) {
  if (auto *G = dyn_cast<GlobalVariable>(O)) {
    StringRef N = G->getName();
    if (G->isThreadLocal()) // addresses of thread-locals are looked through
      return threadLocalStaysHome(*G);
    return G->isConstant() || N.starts_with("llvm.") || N.starts_with("__llvm_") || N.starts_with("__prof") ||
           (N.starts_with("dh_") && N != "dh_descriptors");
  }
  if (isa<AllocaInst>(O) || isNoAliasCall(O))
    return !PointerMayBeCaptured(O, true);
  if (auto *A = dyn_cast<Argument>(O))
    return A->hasByValAttr() && !PointerMayBeCaptured(A, true);
  return isa<ConstantPointerNull>(O) || isa<UndefValue>(O);
}
} // namespace

// Whether all that `pointer` may point into is own or constant memory. The caller caches by pointer.
extern "C" int dh_is_own(LLVMValueRef pointer) {
  SmallVector<const Value *, 4> Objects;
  getUnderlyingObjects(unwrap(pointer), Objects, nullptr, 12);
  for (const Value *O : Objects)
    if (!isOwnObject(O))
      return 0;
  return !Objects.empty();
}

// Whether the pointer is into a global constant, or may be.
extern "C" int dh_is_constant_data(LLVMValueRef pointer) {
  SmallVector<const Value *, 4> Objects;
  getUnderlyingObjects(unwrap(pointer), Objects);
  return any_of(Objects, [](const Value *O) {
    auto *G = dyn_cast<GlobalVariable>(O);
    return G && G->isConstant();
  });
}

// Alignment of the pointer as far as its definition tells.
extern "C" unsigned dh_known_alignment(LLVMValueRef pointer, LLVMValueRef at) {
  const DataLayout &DL = unwrap<Instruction>(at)->getModule()->getDataLayout();
  return getKnownAlignment(unwrap(pointer), DL, unwrap<Instruction>(at)).value();
}
