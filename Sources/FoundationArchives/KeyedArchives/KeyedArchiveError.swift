import Foundation

/// The reason why an archive of `NSKeyedArchiver` is not read. The stored data is kept.
package struct KeyedArchiveError: LocalizedError, CustomStringConvertible {
  package let description: String
  package var errorDescription: String? { description }

  init(_ description: String) { self.description = description }
}
