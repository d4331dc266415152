import Foundation

/// A class that Foundation on Linux cannot name in an archive.
package struct UnnamedClassError: LocalizedError, CustomStringConvertible {
  package let description: String
  package var errorDescription: String? { description }

  init(_ name: String) {
    description =
      "\(name) is not at the top level of a module, and only such classes can be archived here. Move it there."
  }
}
