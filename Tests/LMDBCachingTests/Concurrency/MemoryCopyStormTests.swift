import LMDBCaching
import TestSupport
import Testing

/// Values of all lengths, read while they are written: short ones are copied without a lock. All bytes of a value are
/// equal, and identify its key.
@Suite struct MemoryCopyStormTests {
  protocol Filled: Sendable {
    init(_ byte: UInt8)
    /// The common byte, or `nil` if bytes differ.
    var byte: UInt8? { get }
  }

  struct Bytes<Content: BitwiseCopyable & Sendable>: Filled {
    var content: Content

    init(_ byte: UInt8) {
      content = withUnsafeTemporaryAllocation(of: Content.self, capacity: 1) { buffer in
        UnsafeMutableRawBufferPointer(buffer).initializeMemory(as: UInt8.self, repeating: byte)
        return buffer[0]
      }
    }

    var byte: UInt8? {
      withUnsafeBytes(of: content) { bytes in
        let bytes = bytes.prefix(MemoryLayout<Content>.size)
        return bytes.allSatisfy { $0 == bytes[0] } ? bytes[0] : nil
      }
    }
  }

  /// Stored out of line.
  struct Text: Filled {
    var text: String
    init(_ byte: UInt8) { text = String(repeating: Character(Unicode.Scalar(byte & 0x7F)), count: 30) }
    var byte: UInt8? {
      let bytes = Array(text.utf8)
      return bytes.count == 30 && bytes.allSatisfy { $0 == bytes[0] } ? bytes[0] : nil
    }
  }

  final class Object: Sendable {
    let byte: UInt8
    init(_ byte: UInt8) { self.byte = byte }
  }

  /// A weak reference prevents bitwise copies.
  // Sendable: the reference is set once, before the structure is shared.
  struct Weak: Filled, @unchecked Sendable {
    let object: Object
    weak var reference: Object?
    init(_ byte: UInt8) {
      object = Object(byte)
      reference = object
    }
    var byte: UInt8? { reference === object ? object.byte : nil }
  }

  private func storm<Value: Filled>(_ type: Value.Type) {
    let cache = MemoryCache<UInt8, Value>()
    let flag = Guarded(false)
    concurrently(3) { worker in
      var random = SeededRandom(UInt64(worker))
      if worker == 0 {
        for _ in 0..<6_000 {
          let key = UInt8(random.below(100))
          if random.below(3) == 0 { cache.removeValue(forKey: key) } else { cache.set(Value(key), forKey: key) }
        }
        // The readers may begin late.
        while cache.statistics.hits == 0 {
          cache.set(Value(7), forKey: 7)
        }
        return flag { $0 = true }
      }
      while !flag.current {
        for _ in 0..<50 {
          let key = UInt8(random.below(100))
          if let value = cache.value(forKey: key) { #expect(value.byte == key, "\(type)") }
        }
      }
    }
    let counts = cache.statistics
    #expect(counts.hits > 0, "\(type)")
  }

  typealias Eight = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

  @Test func bytesOfAValueAreOfOneWrite() {
    storm(Bytes<UInt8>.self)
    storm(Bytes<UInt16>.self)
    storm(Bytes<(UInt8, UInt8, UInt8)>.self)
    storm(Bytes<UInt32>.self)
    storm(Bytes<(UInt32, UInt8)>.self)
    storm(Bytes<(UInt32, UInt32, UInt32)>.self)
    storm(Bytes<UInt64>.self)
    storm(Bytes<(UInt64, UInt64)>.self)
    storm(Bytes<(UInt64, UInt64, UInt64)>.self)
    storm(Bytes<SIMD4<UInt32>>.self)
    storm(Bytes<SIMD8<UInt64>>.self)
    storm(Bytes<Eight>.self)
    storm(Bytes<(Eight, UInt64, UInt64, UInt64, UInt64, UInt64)>.self)
    storm(Bytes<(Eight, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)>.self)
    storm(Bytes<(Eight, Eight)>.self)
    storm(Bytes<(Eight, Eight, Eight, UInt64)>.self)
  }

  @Test func soIsWhatItRefersTo() {
    storm(Text.self)
    storm(Weak.self)
  }
}
