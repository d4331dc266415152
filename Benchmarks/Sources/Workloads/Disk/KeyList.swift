import CReference

/// Keys as strings, and as separately allocated, NUL-terminated bytes for C.
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

  func prefix(_ count: Int) -> KeyList { KeyList(Array(strings.prefix(count))) }

  func only(_ place: Int) -> KeyList { KeyList([strings[place]]) }

  /// The same keys, with each run of `size` sorted by bytes.
  func sorted(inRunsOf size: Int) -> KeyList {
    var texts: [String] = []
    for start in stride(from: 0, to: count, by: size) {
      // ASCII strings sort by their bytes.
      texts += strings[start..<min(start + size, count)].sorted()
    }
    return KeyList(texts)
  }
}
