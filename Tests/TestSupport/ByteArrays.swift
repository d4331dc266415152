import Foundation
import Platform

// The standard library's own go element by element through generic code where nothing is optimized: one test that sorts
// and compares keys took a minute with them.

/// Whether both are there and have the same bytes, or neither is.
package func areEqual(_ first: [UInt8]?, _ second: [UInt8]?) -> Bool {
  guard let first, let second else { return first == nil && second == nil }
  return first.count == second.count && memcmp(first, second, first.count) == 0
}

/// Byte order, shorter first: LMDB's order of keys.
package func isInOrder(_ first: [UInt8], _ second: [UInt8]) -> Bool {
  first.withUnsafeBytes { first in second.withUnsafeBytes { first.precedes($0) } }
}

extension [UInt8] {
  /// Bytes that are each made of its place.
  package init(count: Int, of byte: (Int) -> UInt8) {
    self.init(unsafeUninitializedCapacity: count) { buffer, length in
      while length < count {
        buffer.initializeElement(at: length, to: byte(length))
        length += 1
      }
    }
  }
}
