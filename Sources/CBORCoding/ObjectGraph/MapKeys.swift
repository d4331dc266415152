#if !canImport(Darwin)
  import Foundation

  /// A map's encoded keys, text or integers with the shortest heads: equal keys have equal bytes.
  struct MapKeys {
    private let bytes: UnsafeRawBufferPointer
    private let offsets: UnsafeBufferPointer<Int>

    /// - Parameter offsets: Offsets of the keys, which are whole, in `bytes`.
    init(_ bytes: UnsafeRawBufferPointer, _ offsets: UnsafeBufferPointer<Int>) {
      self.bytes = bytes
      self.offsets = offsets
    }

    /// The offset of a repeated key; `nil` if all are unique.
    @inline(__always)
    var duplicate: Int? {
      if offsets.count > 16 { return duplicateOfMany }
      for index in 1..<offsets.count {
        let first = bytes[offsets[index]]
        for earlier in 0..<index where bytes[offsets[earlier]] == first {
          if areEqual(offsets[index], offsets[earlier]) { return offsets[index] }
        }
      }
      return nil
    }

    private var duplicateOfMany: Int? {
      let sorted = offsets.sorted { isLess($0, $1) }
      for index in 1..<sorted.count where areEqual(sorted[index - 1], sorted[index]) { return sorted[index] }
      return nil
    }

    private func areEqual(_ first: Int, _ second: Int) -> Bool {
      let length = Self.length(of: bytes, at: first)
      return length == Self.length(of: bytes, at: second)
        && memcmp(bytes.baseAddress! + first, bytes.baseAddress! + second, length) == 0
    }

    private func isLess(_ first: Int, _ second: Int) -> Bool {
      let lengths = (Self.length(of: bytes, at: first), Self.length(of: bytes, at: second))
      if lengths.0 != lengths.1 { return lengths.0 < lengths.1 }
      return memcmp(bytes.baseAddress! + first, bytes.baseAddress! + second, lengths.0) < 0
    }

    @inline(__always)
    static func length(of bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
      let initial = bytes[offset]
      // Fast path: short text, the most common key.
      if initial >= 0x60 && initial < 0x78 { return 1 &+ Int(initial & 0x1F) }
      var reader = CBORReader(bytes, at: offset)
      guard let head = try? reader.readHead() else { return 1 }
      return reader.offset - offset + (head.major == .text ? Int(truncatingIfNeeded: head.argument) : 0)
    }
  }
#endif
