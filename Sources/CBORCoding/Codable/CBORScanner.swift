import Foundation

/// Validates a whole document in one pass without recursion, in linear time plus sorting for unsorted keys. Allocates
/// 16 bytes for each array and map present, never for announced sizes.
struct CBORScanner {
  private let bytes: CBORBytes
  private let maximumDepth: Int

  /// An enclosing array or map; at the bottom, the document.
  struct Level: BitwiseCopyable {
    /// The initial `left` for an indefinite length. Even, as for a definite map.
    static let indefinite = Int.max - 1

    /// Items still expected. In a map, even means that a key is next.
    let left: Int
    let isMap: Bool
    let isIndefinite: Bool
    /// Whether the order of the keys so far proves them distinct.
    let isSorted: Bool
    /// Its tape index; -1 for the document.
    let entry: Int
    /// The number of arrays, maps and tags down to this one.
    let depth: Int
    let begin: Int
    /// The last key; empty before the first one.
    let keyStart: Int
    let keyEnd: Int
  }

  /// Fills `tape`. Returns whether any length is indefinite. See ``CBORDefiniteForm``.
  ///
  /// - Parameter bytes: Fewer than `UInt32.max` bytes.
  static func scan(
    _ bytes: CBORBytes, maximumDepth: Int, into tape: inout CBORTape
  ) throws(CBORError) -> Bool {
    tape.truncate(to: 0)
    return try CBORScanner(bytes: bytes, maximumDepth: maximumDepth).run(&tape)
  }

  private func run(_ tape: inout CBORTape) throws(CBORError) -> Bool {
    var hasIndefinite = false
    var outer = CBORStack<Level>(capacity: 8)
    // The innermost level, in local variables to keep it in registers.
    var (left, isMap, isIndefinite, isSorted) = (1, false, false, true)
    var (entry, depth, begin, keyStart, keyEnd) = (-1, 0, 0, 0, 0)
    var offset = 0
    while true {
      let start: Int
      var isAtEnd = left == 0
      if isIndefinite { isAtEnd = try isBreak(at: offset, isValueNext: isMap && left & 1 != 0) }
      if isAtEnd {
        guard entry >= 0 else { break }
        if isIndefinite {
          offset &+= 1
          tape[entry].count = UInt32(truncatingIfNeeded: (Level.indefinite &- left) / (isMap ? 2 : 1))
        }
        tape[entry].end = UInt32(truncatingIfNeeded: offset)
        tape[entry].next = UInt32(truncatingIfNeeded: tape.count)
        tape[entry].isSorted = isMap && isSorted
        // Keys with indefinite lengths are compared after conversion to definite form.
        if isMap && !isSorted && !hasIndefinite { try checkKeys(ofMapAt: begin, entry, tape) }
        start = begin
        let level = outer.removeLast()
        (left, isMap, isIndefinite, isSorted) = (level.left, level.isMap, level.isIndefinite, level.isSorted)
        (entry, depth, begin) = (level.entry, level.depth, level.begin)
        (keyStart, keyEnd) = (level.keyStart, level.keyEnd)
      } else {
        start = offset
        var head = try readHead(&offset)
        var innerDepth = depth
        while head.initialByte >> 5 == CBORMajorType.tag.rawValue {
          innerDepth &+= 1
          guard innerDepth <= maximumDepth else { throw CBORError(.tooDeep, at: start) }
          head = try readHead(&offset)
        }
        switch head.major {
        case .unsigned, .negative, .tag: break
        case .simple:
          if head.isBreak { throw CBORError(.unexpectedBreak, at: offset - 1) }
        case .bytes, .text:
          if head.isIndefinite { hasIndefinite = true }
          offset = try endOfString(head, start, offset)
        case .array, .map:
          guard innerDepth < maximumDepth else { throw CBORError(.tooDeep, at: start) }
          if head.isIndefinite { hasIndefinite = true }
          outer.append(
            Level(
              left: left, isMap: isMap, isIndefinite: isIndefinite, isSorted: isSorted, entry: entry, depth: depth,
              begin: begin, keyStart: keyStart, keyEnd: keyEnd))
          (isMap, isIndefinite, isSorted) = (head.major == .map, head.isIndefinite, true)
          left = try items(in: head, start, offset)
          (entry, depth, begin, keyStart, keyEnd) = (tape.count, innerDepth &+ 1, start, offset, offset)
          tape.append(
            CBORTapeEntry(end: 0, next: 0, count: UInt32(truncatingIfNeeded: head.argument), isSorted: false))
          continue
        }
      }
      // The item that began at `start` is complete.
      if isMap && left & 1 == 0 {
        if isSorted { isSorted = isInOrder(keyStart, keyEnd, start, offset) }
        (keyStart, keyEnd) = (start, offset)
      }
      left &-= 1
    }
    guard offset == bytes.count else { throw CBORError(.trailingBytes, at: offset) }
    return hasIndefinite
  }

  private func isBreak(at offset: Int, isValueNext: Bool) throws(CBORError) -> Bool {
    guard offset < bytes.count else { throw CBORError(.endOfInput, at: offset) }
    guard bytes[offset] == CBORHead.breakByte else { return false }
    if isValueNext { throw CBORError(.unexpectedBreak, at: offset) }
    return true
  }

  @inline(__always)
  private func readHead(_ offset: inout Int) throws(CBORError) -> CBORHead {
    guard offset < bytes.count else { throw CBORError(.endOfInput, at: offset) }
    let initialByte = bytes[offset]
    if initialByte & 0x1F < 24 {
      offset &+= 1
      return CBORHead(initialByte: initialByte, argument: UInt64(initialByte & 0x1F))
    }
    let (argument, end) = try longHead(initialByte, offset)
    offset = end
    return CBORHead(initialByte: initialByte, argument: argument)
  }

  @inline(never)
  private func longHead(_ initialByte: UInt8, _ offset: Int) throws(CBORError) -> (UInt64, Int) {
    var reader = CBORReader(bytes, at: offset)
    return (try reader.readHead().argument, reader.offset)
  }

  // MARK: Strings

  @inline(__always)
  private func endOfString(_ head: CBORHead, _ start: Int, _ offset: Int) throws(CBORError) -> Int {
    if head.isIndefinite { return try endOfChunks(head, offset) }
    guard head.argument <= UInt64(bytes.count &- offset) else { throw CBORError(.lengthOverInput, at: start) }
    let count = Int(truncatingIfNeeded: head.argument)
    if head.major == .text && !isShortASCII(offset, count) {
      guard CBORReader.isUTF8(bytes[offset..<offset &+ count]) else { throw CBORError(.invalidUTF8, at: start) }
    }
    return offset &+ count
  }

  private func endOfChunks(_ head: CBORHead, _ offset: Int) throws(CBORError) -> Int {
    var reader = CBORReader(bytes, at: offset - 1)
    try reader.skipString(head.major)
    return reader.offset
  }

  /// A fast path for the most common text.
  @inline(__always)
  private func isShortASCII(_ start: Int, _ count: Int) -> Bool {
    guard count <= 8, start &+ 8 <= bytes.count else { return false }
    if count == 0 { return true }
    // Shift out the bytes that follow the text.
    return bytes.load(UInt64.self, at: start) &>> UInt64(truncatingIfNeeded: 8 &* (8 &- count)) & 0x8080_8080_8080_8080
      == 0
  }

  // MARK: Arrays and maps

  @inline(__always)
  private func items(in head: CBORHead, _ start: Int, _ offset: Int) throws(CBORError) -> Int {
    if head.isIndefinite { return Level.indefinite }
    let isMap = head.major == .map
    let remaining = bytes.count &- offset
    guard head.argument <= UInt64(isMap ? remaining / 2 : remaining) else {
      throw CBORError(.lengthOverInput, at: start)
    }
    return Int(truncatingIfNeeded: head.argument) &* (isMap ? 2 : 1)
  }

  /// Whether a key follows the last one in deterministic order and has a unique encoding.
  @inline(__always)
  private func isInOrder(_ lastStart: Int, _ lastEnd: Int, _ start: Int, _ end: Int) -> Bool {
    let initialByte = bytes[start]
    // Integers and strings with the shortest head are unique by their bytes.
    guard initialByte < CBORMajorType.array.rawValue << 5,
      initialByte & 0x1F < 24 || hasShortestHead(start, initialByte)
    else { return false }
    let length = lastEnd &- lastStart
    if length == 0 { return true }
    let lastByte = bytes[lastStart]
    if lastByte != initialByte { return lastByte < initialByte }
    // No encoded item is a prefix of another.
    return bytes.order(lastStart, start, count: min(length, end &- start)) < 0
  }

  private func hasShortestHead(_ start: Int, _ initialByte: UInt8) -> Bool {
    switch initialByte & 0x1F {
    case 24: bytes[start + 1] >= 24
    case 25: bytes.load(UInt16.self, at: start + 1) > UInt16(UInt8.max)
    case 26: bytes.load(UInt32.self, at: start + 1) > UInt32(UInt16.max)
    case 27: bytes.load(UInt64.self, at: start + 1) > UInt64(UInt32.max)
    default: false
    }
  }

  // MARK: Keys in disorder

  /// A key by value instead of encoding. Keys other than integers and strings compare by their bytes.
  private struct Key {
    let type: UInt8
    let number: UInt64
    let offset: Int
    let count: Int
  }

  /// - Throws: `.duplicateKey`.
  private func checkKeys(ofMapAt start: Int, _ entry: Int, _ tape: borrowing CBORTape) throws(CBORError) {
    let document = CBORDocument(bytes: bytes)
    var position = CBORPosition(offset: UInt32(start), tape: UInt32(entry))
    document.skipTags(&position)
    let pairs = document.enter(&position, tape)
    var keys: [Key] = []
    for _ in 0..<pairs {
      keys.append(key(at: &position, document, tape))
      document.skip(&position, tape)
    }
    keys.sort { order($0, $1) < 0 }
    for index in keys.indices.dropFirst() where order(keys[index - 1], keys[index]) == 0 {
      throw CBORError(.duplicateKey, at: max(keys[index - 1].offset, keys[index].offset))
    }
  }

  private func key(
    at position: inout CBORPosition, _ document: CBORDocument, _ tape: borrowing CBORTape
  ) -> Key {
    let start = Int(position.offset)
    var content = position
    let head = document.readHead(&content)
    document.skip(&position, tape)
    let end = Int(position.offset)
    let type = head.initialByte >> 5
    switch head.major {
    case .unsigned, .negative: return Key(type: type, number: head.argument, offset: end, count: 0)
    case .bytes, .text:
      let offset = Int(content.offset)
      return Key(type: type, number: 0, offset: offset, count: end - offset)
    case .array, .map, .tag, .simple: return Key(type: type, number: 0, offset: start, count: end - start)
    }
  }

  private func order(_ a: Key, _ b: Key) -> Int {
    if a.type != b.type { return a.type < b.type ? -1 : 1 }
    if a.number != b.number { return a.number < b.number ? -1 : 1 }
    if a.count != b.count { return a.count < b.count ? -1 : 1 }
    return bytes.order(a.offset, b.offset, count: a.count)
  }
}
