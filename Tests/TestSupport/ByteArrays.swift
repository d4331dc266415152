import Foundation
import Platform

// Replaces the standard library's generic versions, which took a test of sorting keys a minute without optimization.

package func areEqual(_ first: [UInt8]?, _ second: [UInt8]?) -> Bool {
  guard let first, let second else { return first == nil && second == nil }
  return first.count == second.count && memcmp(first, second, first.count) == 0
}

/// LMDB's key order: by bytes, shorter first.
package func isInOrder(_ first: [UInt8], _ second: [UInt8]) -> Bool {
  first.withUnsafeBytes { first in second.withUnsafeBytes { first.precedes($0) } }
}

extension [UInt8] {
  /// Computes each byte from its index.
  package init(count: Int, of byte: (Int) -> UInt8) {
    self.init(unsafeUninitializedCapacity: count) { buffer, length in
      while length < count {
        buffer.initializeElement(at: length, to: byte(length))
        length += 1
      }
    }
  }
}
