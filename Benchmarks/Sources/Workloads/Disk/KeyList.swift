import CReference

/// Keys as strings, and as bytes for what is called from C: each in memory of its own, and ended by a NUL.
final class KeyList {
  let strings: [String]
  let raw: UnsafeMutableBufferPointer<reference_key>

  convenience init(numbers: [Int]) { self.init(numbers.map(RequestKeys.text)) }

  init(_ texts: [String]) {
    strings = texts.map { String(decoding: Array($0.utf8), as: UTF8.self) }
    raw = .allocate(capacity: texts.count)
    for (place, text) in texts.enumerated() {
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count + 1, alignment: 8)
      bytes.copyBytes(from: text.utf8)
      bytes[text.utf8.count] = 0
      raw.initializeElement(at: place, to: reference_key(bytes: bytes.baseAddress, count: text.utf8.count))
    }
  }

  deinit {
    for key in raw { key.bytes.deallocate() }
    raw.deallocate()
  }

  var count: Int { strings.count }

  /// The first keys, as a list of their own.
  func prefix(_ count: Int) -> KeyList { KeyList(Array(strings.prefix(count))) }

  /// One of the keys, as a list of its own.
  func only(_ place: Int) -> KeyList { KeyList([strings[place]]) }

  /// The same keys, each run of `size` in the order of their bytes.
  func sorted(inRunsOf size: Int) -> KeyList {
    var texts: [String] = []
    for start in stride(from: 0, to: count, by: size) {
      // Of ASCII alone, whose order is that of their bytes.
      texts += strings[start..<min(start + size, count)].sorted()
    }
    return KeyList(texts)
  }
}
