import Foundation

/// The sanitizers of this build, for tests that measure what sanitizers change.
package enum Sanitizer: String, Sendable {
  case address = "__asan_init"
  case thread = "__tsan_init"

  package var isActive: Bool {
    // The main program's handle: C's macro for it is not imported.
    let program = dlopen(nil, RTLD_NOW)
    defer { if let program { dlclose(program) } }
    return program.flatMap { dlsym($0, rawValue) } != nil
  }
}
