import Foundation

/// Why an archive of `NSKeyedArchiver` is not read. What was stored stays where it is.
package struct KeyedArchiveError: LocalizedError, CustomStringConvertible {
  package let description: String
  package var errorDescription: String? { description }

  init(_ description: String) { self.description = description }
}
