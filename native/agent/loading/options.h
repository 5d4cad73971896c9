// The agent's options: comma-separated `key` or `key=value`, values percent-encoded.  The grammar
// is that of jvmti.target.options, where it is described and tested.
#pragma once

#include <jvmti.h>

namespace jvmti {

// Up to 64 bytes in hexadecimal.
constexpr int kTokenSize = 129;
// Where the options say nothing else: seconds for the controller's first message, for a script to
// have set itself up, and for its agent_onunload.
constexpr int kFirstMessage = 10;
constexpr int kScriptStart = 60;
constexpr int kScriptEnd = 10;

struct Options {
  char connect[512] = "";
  char listen[512] = "";
  char reserve[2048] = "";
  char token[kTokenSize] = "";
  char log[512] = "";
  char script[4096] = "";
  char options[16384] = "";  // the script's
  char python[4096] = "";
  bool listening = false;
  bool reserving = false;
  bool following = false;
  int timeout = 0;  // 0 is the default
  int unload = 0;
};

// Null when the text is understood, else what is wrong with it.
const char* parse_options(const char* text, Options* options);

// Narrows `wanted` to the capabilities named in `names`, joined by '+'.
void select_capabilities(const char* names, jvmtiCapabilities* wanted);

}  // namespace jvmti
