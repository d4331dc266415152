import Foundation

/// What the tests were built with to find errors while they run, for those that measure what it changes.
package enum Sanitizer: String, Sendable {
  case address = "__asan_init"
  case thread = "__tsan_init"

  package var isActive: Bool {
    // The handle of the whole program, as the C library's macro for it is not imported.
    let program = dlopen(nil, RTLD_NOW)
    defer { if let program { dlclose(program) } }
    return program.flatMap { dlsym($0, rawValue) } != nil
  }
}
