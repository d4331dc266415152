package import Foundation

// Sendable: UserDefaults may be used from any thread, as its documentation says, and locks for itself.
package struct SharedDefaults: @unchecked Sendable {
  package let defaults: UserDefaults

  package init(defaults: UserDefaults) { self.defaults = defaults }
}
