// Small questions about single instructions.
#include "shim.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalIFunc.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

// Whether another thread may run, or a lock change hands, during the instruction.
extern "C" int dh_may_synchronise(LLVMValueRef instruction) {
  Instruction *I = unwrap<Instruction>(instruction);
  if (auto *C = dyn_cast<CallBase>(I))
    return !isa<IntrinsicInst>(C) && !C->doesNotAccessMemory() && !C->hasFnAttr(Attribute::NoSync);
  return isa<FenceInst>(I) || I->isAtomic();
}

// Splits the block before `before`: a branch on `condition`, expected false, to a new cold block
// that joins again; returns the cold block's terminator.
extern "C" LLVMValueRef dh_split_cold(LLVMValueRef condition, LLVMValueRef before) {
  Instruction *I = unwrap<Instruction>(before);
  MDNode *Weights = MDBuilder(I->getContext()).createBranchWeights(1, 1 << 20);
  return wrap(SplitBlockAndInsertIfThen(unwrap(condition), I, false, Weights));
}

// Whether a load or store is of a virtual-table pointer. Without type information (-O0) the shape
// decides: a load whose value leads, through one more load, to a call's target; a store of a vtable's address.
extern "C" int dh_is_vtable_access(LLVMValueRef instruction) {
  Instruction *I = unwrap<Instruction>(instruction);
  if (MDNode *Tag = I->getMetadata(LLVMContext::MD_tbaa))
    return Tag->isTBAAVtableAccess();
  if (auto *S = dyn_cast<StoreInst>(I)) {
    auto *G = dyn_cast<GlobalVariable>(S->getValueOperand()->stripInBoundsConstantOffsets());
    return G && G->getName().starts_with("_ZTV");
  }
  auto *L = dyn_cast<LoadInst>(I);
  if (!L || !L->getType()->isPointerTy())
    return 0;
  for (User *U : L->users()) {
    Value *Slot = nullptr;
    if (auto *G = dyn_cast<GEPOperator>(U); G && G->getSourceElementType()->isPointerTy() && G->hasOneUse())
      Slot = *G->user_begin();
    else
      Slot = U;
    auto *Target = dyn_cast<LoadInst>(Slot);
    if (!Target || !Target->getType()->isPointerTy() || !Target->hasOneUse())
      continue;
    auto *Call = dyn_cast<CallBase>(*Target->user_begin());
    if (Call && Call->getCalledOperand() == Target)
      return 1;
  }
  return 0;
}

// Whether nothing but its place in the source, if that, came with an instruction from the front end.
extern "C" int dh_is_bare(LLVMValueRef instruction) {
  return !unwrap<Instruction>(instruction)->hasMetadataOtherThanDebugLoc();
}

// Whether a vector operation makes each lane of its result of the same lane of its vector operands alone.
extern "C" int dh_is_lanewise(LLVMValueRef instruction) {
  Instruction *I = unwrap<Instruction>(instruction);
  auto *Result = dyn_cast<FixedVectorType>(I->getType());
  if (!Result)
    return 0;
  for (Value *O : I->operands())
    if (auto *V = dyn_cast<FixedVectorType>(O->getType()); V && V->getNumElements() != Result->getNumElements())
      return 0;
  if (auto *Call = dyn_cast<IntrinsicInst>(I))
    return isTriviallyVectorizable(Call->getIntrinsicID());
  return isa<BinaryOperator, UnaryOperator, CastInst, CmpInst, SelectInst, FreezeInst>(I);
}

// Whether `value` is computed from `load` within a few operations of its block. `masked` is set when
// it is the load with some bits kept and others put in (the store to a bit-field).
extern "C" int dh_depends_on(LLVMValueRef value, LLVMValueRef load, int *masked) {
  Value *Load = unwrap(load);
  SmallVector<Value *, 8> Work{unwrap(value)};
  SmallPtrSet<Value *, 16> Seen;
  *masked = 0;
  while (!Work.empty() && Seen.size() < 16) {
    Value *V = Work.pop_back_val();
    if (V == Load)
      return 1;
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !Seen.insert(I).second || isa<PHINode>(I) || I->getParent() != cast<Instruction>(Load)->getParent())
      continue;
    if (isa<LoadInst>(I))
      continue;
    for (Value *O : I->operands()) {
      if (O == Load && I->getOpcode() == Instruction::And && isa<ConstantInt>(I->getOperand(1)))
        for (User *U : I->users())
          if (U == unwrap(value) && cast<Instruction>(U)->getOpcode() == Instruction::Or)
            *masked = 1;
      Work.push_back(O);
    }
  }
  return 0;
}

// Whether an atomic or fence only orders against signal handlers of its own thread.
extern "C" int dh_single_thread_scope(LLVMValueRef instruction) {
  auto Scope = getAtomicSyncScopeID(unwrap<Instruction>(instruction));
  return Scope && *Scope == SyncScope::SingleThread;
}

// Whether the dynamic linker calls `function` to resolve an indirect function.
extern "C" int dh_is_ifunc_resolver(LLVMValueRef function) {
  Function *F = unwrap<Function>(function);
  for (GlobalIFunc &I : F->getParent()->ifuncs())
    if (I.getResolverFunction() == F)
      return 1;
  return 0;
}

// Drops what the function promised about memory: sites touch more than it did.
extern "C" void dh_forget_memory_attributes(LLVMValueRef function) {
  Function *F = unwrap<Function>(function);
  for (auto A : {Attribute::Memory, Attribute::NoSync, Attribute::WillReturn, Attribute::Speculatable})
    F->removeFnAttr(A);
}

// Where a call's result is first there: after a call, at an invoke's normal destination if that has
// no other predecessor, else null.
extern "C" LLVMValueRef dh_result_point(LLVMValueRef call) {
  Instruction *I = unwrap<Instruction>(call);
  if (auto *Invoke = dyn_cast<InvokeInst>(I)) {
    BasicBlock *Next = Invoke->getNormalDest();
    return Next->getSinglePredecessor() ? wrap(&*Next->getFirstInsertionPt()) : nullptr;
  }
  return I->isTerminator() ? nullptr : wrap(I->getNextNode());
}

// The type behind a memory operand of inline assembly; null if the argument is none.
extern "C" LLVMTypeRef dh_element_type(LLVMValueRef call, unsigned argument) {
  return wrap(cast<CallBase>(unwrap(call))->getParamElementType(argument));
}

// The type that a call copies for a by-value argument; null if the argument is none.
extern "C" LLVMTypeRef dh_byval_type(LLVMValueRef call, unsigned argument) {
  return wrap(cast<CallBase>(unwrap(call))->getParamByValType(argument));
}
