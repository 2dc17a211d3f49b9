// The detecting body: a clone of the function, in the same comdat and section.
//
// Addresses of labels (computed goto) that are kept in constant tables of the function's own are
// cloned with the table; a function whose label addresses are kept anywhere else is not cloned.
#include "shim.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace llvm;

namespace {
// Whether every use of `C` is, through constants, an instruction of `F` or the initializer of a
// table in `Tables`; tables found on the way are added.
bool usedOnlyIn(Constant *C, Function &F, SmallSetVector<GlobalVariable *, 4> &Tables) {
  for (User *U : C->users()) {
    if (auto *I = dyn_cast<Instruction>(U)) {
      if (I->getFunction() != &F)
        return false;
    } else if (auto *G = dyn_cast<GlobalVariable>(U)) {
      if (!G->isConstant() || !G->hasLocalLinkage() || G->hasSection())
        return false;
      if (Tables.insert(G) && !usedOnlyIn(G, F, Tables))
        return false;
    } else if (auto *K = dyn_cast<Constant>(U)) {
      if (isa<GlobalValue>(K) || !usedOnlyIn(K, F, Tables))
        return false;
    } else
      return false;
  }
  return true;
}

bool labelTables(Function &F, SmallSetVector<GlobalVariable *, 4> &Tables) {
  for (BasicBlock &BB : F)
    if (BB.hasAddressTaken())
      if (auto *A = BlockAddress::lookup(&BB))
        if (!usedOnlyIn(A, F, Tables))
          return false;
  return true;
}
} // namespace

// Clones `function`; null if it cannot be. The map answers dh_cloned_value until dh_clone_done.
extern "C" void *dh_clone(LLVMValueRef function, LLVMValueRef *clone) {
  Function *F = unwrap<Function>(function);
  SmallSetVector<GlobalVariable *, 4> Tables;
  if (!labelTables(*F, Tables))
    return nullptr;
  auto *Map = new ValueToValueMapTy;
  for (GlobalVariable *G : Tables) {
    auto *Copy = new GlobalVariable(*F->getParent(), G->getValueType(), true, G->getLinkage(), nullptr,
                                    G->getName() + ".dh");
    Copy->copyAttributesFrom(G);
    Copy->setComdat(G->getComdat());
    (*Map)[G] = Copy;
  }
  Function *Body = CloneFunction(F, *Map);
  Body->setName(F->getName() + ".dh");
  Body->setComdat(F->getComdat());
  Body->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  Body->setVisibility(GlobalValue::DefaultVisibility);
  Body->setLinkage(GlobalValue::InternalLinkage);
  for (GlobalVariable *G : Tables)
    cast<GlobalVariable>((*Map)[G])->setInitializer(MapValue(G->getInitializer(), *Map));
  *clone = wrap(Body);
  return Map;
}

// The clone's counterpart of a value of the original.
extern "C" LLVMValueRef dh_cloned_value(void *map, LLVMValueRef value) {
  auto &Map = *static_cast<ValueToValueMapTy *>(map);
  Value *V = unwrap(value);
  if (isa<Constant>(V))
    return wrap(MapValue(cast<Constant>(V), Map));
  auto It = Map.find(V);
  return It == Map.end() ? value : wrap(static_cast<Value *>(It->second));
}

extern "C" void dh_clone_done(void *map) { delete static_cast<ValueToValueMapTy *>(map); }
