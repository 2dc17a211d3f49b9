// Debug locations with the name of the function whose source holds the statement.
#include "shim.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Metadata.h"

using namespace llvm;

// Reads a DILocation; 0 if it is none.
extern "C" int dh_debug_location(LLVMMetadataRef location, DhLocation *out) {
  auto *L = location ? dyn_cast<DILocation>(unwrap(location)) : nullptr;
  if (!L)
    return 0;
  StringRef File = L->getFilename(), Directory = L->getDirectory(), Function;
  if (DISubprogram *S = L->getScope()->getSubprogram())
    Function = S->getLinkageName().empty() ? S->getName() : S->getLinkageName();
  *out = {File.data(), Directory.data(), Function.data(),
          File.size(), Directory.size(), Function.size(),
          L->getLine(), L->getColumn(),
          wrap(static_cast<Metadata *>(L->getInlinedAt())), wrap(static_cast<Metadata *>(L->getScope()))};
  return 1;
}
