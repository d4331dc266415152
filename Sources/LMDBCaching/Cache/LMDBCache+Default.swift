import Foundation

extension LMDBCache {
  /// The name of the cache, in the directory for data, that is meant where none is named: an application's properties and
  /// stores share it.
  package static var defaultName: String {
    Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName + ".EFStorage"
  }
}
