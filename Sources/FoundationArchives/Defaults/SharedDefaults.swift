package import Foundation

// Sendable: UserDefaults is documented to be thread-safe.
package struct SharedDefaults: @unchecked Sendable {
  package let defaults: UserDefaults

  package init(defaults: UserDefaults) { self.defaults = defaults }
}
