/// A bounds-checked cursor over encoded data items.
///
/// It reads any well-formed CBOR, not only the deterministic form, without trusting it: lengths are checked against the
/// remaining input first, and nothing recurses. After an error the cursor's position is undefined: move to a known
/// offset or stop. Bytes are borrowed: the reader and the buffers it returns are valid as long as they are.
struct CBORReader {
  let bytes: CBORBytes
  /// The nesting limit of ``skip()``.
  let maximumDepth: Int
  /// The offset of the next read; set it with ``move(to:)``, which checks it.
  private(set) var offset: Int

  init(_ bytes: CBORBytes, at offset: Int = 0, maximumDepth: Int = 512) {
    precondition(offset >= 0 && offset <= bytes.count)
    self.bytes = bytes
    self.offset = offset
    self.maximumDepth = maximumDepth
  }

  var isAtEnd: Bool { offset == bytes.count }
  @inline(__always) var remaining: Int { bytes.count &- offset }

  mutating func move(to offset: Int) {
    precondition(offset >= 0 && offset <= bytes.count)
    self.offset = offset
  }

  /// - Throws: `.trailingBytes` unless everything was read.
  func finish() throws(CBORError) {
    guard isAtEnd else { throw CBORError(.trailingBytes, at: offset) }
  }

  // MARK: Heads

  /// The head of the next item, or a break, without moving.
  @inline(__always)
  func peekHead() throws(CBORError) -> CBORHead {
    var reader = self
    return try reader.readHead()
  }

  /// Reads the head of an item without its contents, or a break.
  ///
  /// - Throws: `.endOfInput`, `.reservedInformation`, `.reservedSimpleValue`.
  @inline(__always)
  mutating func readHead() throws(CBORError) -> CBORHead {
    guard offset < bytes.count else { throw CBORError(.endOfInput, at: offset) }
    let initialByte = bytes[offset]
    if initialByte & 0x1F < 24 {
      offset &+= 1
      return CBORHead(initialByte: initialByte, argument: UInt64(initialByte & 0x1F))
    }
    return try readLongHead(initialByte)
  }

  private mutating func readLongHead(_ initialByte: UInt8) throws(CBORError) -> CBORHead {
    let start = offset
    let argument: UInt64
    switch initialByte & 0x1F {
    case 24:
      guard remaining >= 2 else { throw CBORError(.endOfInput, at: start) }
      argument = UInt64(bytes[start + 1])
      if initialByte == 0xF8 && argument < 32 { throw CBORError(.reservedSimpleValue, at: start) }
      offset += 2
    case 25:
      guard remaining >= 3 else { throw CBORError(.endOfInput, at: start) }
      argument = UInt64(bytes.load(UInt16.self, at: start + 1))
      offset += 3
    case 26:
      guard remaining >= 5 else { throw CBORError(.endOfInput, at: start) }
      argument = UInt64(bytes.load(UInt32.self, at: start + 1))
      offset += 5
    case 27:
      guard remaining >= 9 else { throw CBORError(.endOfInput, at: start) }
      argument = bytes.load(UInt64.self, at: start + 1)
      offset += 9
    case CBORHead.indefinite:
      switch initialByte >> 5 {
      // Integers and tags have no indefinite length.
      case 0, 1, 6: throw CBORError(.reservedInformation, at: start)
      default: argument = 0
      }
      offset += 1
    default:
      throw CBORError(.reservedInformation, at: start)
    }
    return CBORHead(initialByte: initialByte, argument: argument)
  }

  /// Reads a break if it is next: the end of an indefinite array, map or string.
  @inline(__always)
  mutating func readBreak() throws(CBORError) -> Bool {
    guard offset < bytes.count else { throw CBORError(.endOfInput, at: offset) }
    guard bytes[offset] == CBORHead.breakByte else { return false }
    offset &+= 1
    return true
  }

  // MARK: Containers and tags

  /// Reads an array's head. Returns the number of items, or `nil` if they end with a break.
  ///
  /// The remaining input can hold that many items; their size in memory is not limited.
  mutating func readArrayHead() throws(CBORError) -> Int? {
    let start = offset
    let head = try readHead()
    guard head.major == .array else { throw CBORError(.unexpectedItem, at: start) }
    return head.isIndefinite ? nil : try checked(head.argument, itemsEach: 1, start)
  }

  /// Reads a map's head. Returns the number of key-value pairs, or `nil` if they end with a break.
  mutating func readMapHead() throws(CBORError) -> Int? {
    let start = offset
    let head = try readHead()
    guard head.major == .map else { throw CBORError(.unexpectedItem, at: start) }
    return head.isIndefinite ? nil : try checked(head.argument, itemsEach: 2, start)
  }

  /// Reads a tag's number if a tag is next.
  @inline(__always)
  mutating func readTag() throws(CBORError) -> UInt64? {
    guard offset < bytes.count else { throw CBORError(.endOfInput, at: offset) }
    guard bytes[offset] >> 5 == CBORMajorType.tag.rawValue else { return nil }
    return try readHead().argument
  }

  /// Checks a count of items, each of which takes at least one byte.
  @inline(__always)
  private func checked(_ count: UInt64, itemsEach: Int, _ start: Int) throws(CBORError) -> Int {
    guard count <= UInt64(remaining / itemsEach) else { throw CBORError(.lengthOverInput, at: start) }
    return Int(truncatingIfNeeded: count)
  }

  @inline(__always)
  mutating func advance(_ count: Int) {
    assert(count >= 0 && count <= remaining)
    offset &+= count
  }
}

extension CBORReader {
  /// Reads an integer from a head or from a bignum.
  ///
  /// - Throws: `.outOfRange`, `.unexpectedItem`, or an error for a malformed item.
  mutating func readInteger<I: FixedWidthInteger>(_ type: I.Type = I.self) throws(CBORError) -> I {
    let start = offset
    guard let (magnitude, isNegative) = try readMagnitude(), let value = I(magnitude: magnitude, isNegative: isNegative)
    else { throw CBORError(.outOfRange, at: start) }
    return value
  }

  /// Reads the absolute value and the sign of an integer or bignum (tags 2 and 3); `nil` beyond 128 bits.
  mutating func readMagnitude() throws(CBORError) -> (magnitude: UInt128, isNegative: Bool)? {
    let start = offset
    let head = try readHead()
    var magnitude = UInt128(head.argument)
    var isTooWide = false
    if head.isBignum {
      guard try peekHead().major == .bytes else { throw CBORError(.unexpectedItem, at: start) }
      magnitude = 0
      // Any number of leading zeros.
      try readChunks(.bytes) { chunk in
        for byte in chunk.array {
          isTooWide = isTooWide || magnitude >> 120 != 0
          magnitude = magnitude << 8 | UInt128(byte)
        }
      }
    } else if head.major != .unsigned, head.major != .negative {
      throw CBORError(.unexpectedItem, at: start)
    }
    if isTooWide { return nil }
    guard head.major == .negative || head.major == .tag && head.argument == CBORTag.negativeBignum else {
      return (magnitude, false)
    }
    // The value is -1 - n.
    return magnitude == .max ? nil : (magnitude + 1, true)
  }

  /// Reads a floating-point number of any precision exactly.
  @inline(__always)
  mutating func readDouble() throws(CBORError) -> Double {
    let start = offset
    let head = try readHead()
    guard let value = head.double else { throw CBORError(.unexpectedItem, at: start) }
    return value
  }

  @inline(__always)
  mutating func readBool() throws(CBORError) -> Bool {
    let start = offset
    let head = try readHead()
    guard head.initialByte & 0xFE == 0xF4 else { throw CBORError(.unexpectedItem, at: start) }
    return head.initialByte == 0xF5
  }

  @inline(__always)
  mutating func readNil() throws(CBORError) -> Bool {
    guard try peekHead().isNil else { return false }
    advance(1)
    return true
  }
}

extension FixedWidthInteger {
  init?(magnitude: UInt128, isNegative: Bool) {
    // Also the least value, whose absolute value does not fit.
    guard isNegative else {
      self.init(exactly: magnitude)
      return
    }
    guard Self.isSigned, let inverted = Self(exactly: magnitude - 1) else { return nil }
    self = ~inverted
  }
}

extension CBORHead {
  var isBignum: Bool { major == .tag && (argument == CBORTag.unsignedBignum || argument == CBORTag.negativeBignum) }

  /// The floating-point number in this head; `nil` for other items.
  @inline(__always) var double: Double? {
    switch initialByte {
    case 0xFB: Double(bitPattern: argument)
    case 0xFA: Double(Float(bitPattern: UInt32(truncatingIfNeeded: argument)))
    case 0xF9: Double(CBORHalfPrecision.float(UInt16(truncatingIfNeeded: argument)))
    default: nil
    }
  }
}

extension CBORReader {
  /// Reads a text string.
  ///
  /// - Throws: `.invalidUTF8`, `.unexpectedItem`, or an error for a malformed item.
  mutating func readText() throws(CBORError) -> String {
    let start = offset
    if let bytes = try readDefinite(.text) { return try Self.text(bytes, at: start) }
    // Each chunk must be valid text by itself (RFC 8949 §3.2.3): scalars are never split.
    var text = ""
    try readChunks(.text) { (chunk) throws(CBORError) in text += try Self.text(chunk, at: start) }
    return text
  }

  mutating func readByteString() throws(CBORError) -> [UInt8] {
    if let bytes = try readDefinite(.bytes) { return bytes.array }
    var all: [UInt8] = []
    try readChunks(.bytes) { chunk in all += chunk.array }
    return all
  }

  /// Reads the unchecked bytes of a string of definite length; `nil`, without moving, for an indefinite one.
  ///
  /// - Throws: `.unexpectedItem` for another type, `.lengthOverInput`.
  @inline(__always)
  mutating func readDefinite(_ major: CBORMajorType) throws(CBORError) -> CBORBytes? {
    let start = offset
    let head = try readHead()
    guard head.initialByte >> 5 == major.rawValue else { throw CBORError(.unexpectedItem, at: start) }
    if head.isIndefinite {
      move(to: start)
      return nil
    }
    return try slice(head.argument, start)
  }

  /// Reads a string of either form and passes its unchecked bytes to `body` chunk by chunk.
  mutating func readChunks(
    _ major: CBORMajorType, _ body: (CBORBytes) throws(CBORError) -> Void
  ) throws(CBORError) {
    let start = offset
    let head = try readHead()
    guard head.major == major else { throw CBORError(.unexpectedItem, at: start) }
    guard head.isIndefinite else { return try body(try slice(head.argument, start)) }
    while try !readBreak() {
      let start = offset
      let head = try readHead()
      guard head.major == major, !head.isIndefinite else { throw CBORError(.wrongChunk, at: start) }
      try body(try slice(head.argument, start))
    }
  }

  @inline(__always)
  private mutating func slice(_ length: UInt64, _ start: Int) throws(CBORError) -> CBORBytes {
    guard length <= UInt64(remaining) else { throw CBORError(.lengthOverInput, at: start) }
    let first = offset
    advance(Int(truncatingIfNeeded: length))
    return bytes[first..<offset]
  }

  @inline(__always)
  private static func text(_ bytes: CBORBytes, at start: Int) throws(CBORError) -> String {
    guard isUTF8(bytes) else { throw CBORError(.invalidUTF8, at: start) }
    return String(utf8: bytes)
  }
}

extension CBORReader {
  /// Skips one item and its contents, which must be well-formed, in linear time and without recursion.
  ///
  /// - Throws: `.tooDeep` over ``maximumDepth``, `.invalidUTF8`, or an error for a malformed item. Does not detect
  ///   duplicate keys.
  mutating func skip() throws(CBORError) {
    // Items left in each enclosing array, map and tag; the innermost is in `left`.
    var outer: [Int] = []
    var left = 1
    while true {
      var isComplete = left == 0
      if left < 0 { isComplete = try readBreak(endingContainer: left) }
      if isComplete {
        guard let enclosing = outer.popLast() else { return }
        left = enclosing
        continue
      }
      let start = offset
      let head = try readHead()
      left = left > 0 ? left - 1 : Self.afterItem(left)
      switch head.major {
      case .unsigned, .negative: break
      case .simple:
        if head.isBreak { throw CBORError(.unexpectedBreak, at: start) }
      case .bytes, .text:
        move(to: start)
        try skipString(head.major)
      case .array, .map, .tag:
        guard outer.count < maximumDepth else { throw CBORError(.tooDeep, at: start) }
        outer.append(left)
        left = try items(in: head, start)
      }
    }
  }

  /// Three negative numbers mark containers of indefinite length.
  private static let indefiniteArray = -1
  private static let indefiniteMapBeforeKey = -2
  private static let indefiniteMapBeforeValue = -3

  private static func afterItem(_ left: Int) -> Int {
    switch left {
    case indefiniteMapBeforeKey: indefiniteMapBeforeValue
    case indefiniteMapBeforeValue: indefiniteMapBeforeKey
    default: left
    }
  }

  private mutating func readBreak(endingContainer left: Int) throws(CBORError) -> Bool {
    let start = offset
    guard try readBreak() else { return false }
    guard left != Self.indefiniteMapBeforeValue else { throw CBORError(.unexpectedBreak, at: start) }
    return true
  }

  private func items(in head: CBORHead, _ start: Int) throws(CBORError) -> Int {
    if head.major == .tag { return 1 }
    let isMap = head.major == .map
    if head.isIndefinite { return isMap ? Self.indefiniteMapBeforeKey : Self.indefiniteArray }
    guard head.argument <= UInt64(isMap ? remaining / 2 : remaining) else {
      throw CBORError(.lengthOverInput, at: start)
    }
    return Int(head.argument) * (isMap ? 2 : 1)
  }

  /// Skips a byte or text string of either form.
  mutating func skipString(_ major: CBORMajorType) throws(CBORError) {
    let start = offset
    guard major == .text else { return try readChunks(.bytes) { _ in } }
    try readChunks(.text) { (chunk) throws(CBORError) in
      guard Self.isUTF8(chunk) else { throw CBORError(.invalidUTF8, at: start) }
    }
  }
}

extension CBORReader {
  /// Whether the bytes are UTF-8: no surrogates, no overlong forms, nothing above U+10FFFF (RFC 3629 §4).
  @inline(__always)
  static func isUTF8(_ bytes: CBORBytes) -> Bool {
    var index = 0
    // Fast path for ASCII.
    while index &+ 8 <= bytes.count {
      if bytes.load(UInt64.self, at: index) & 0x8080_8080_8080_8080 != 0 { break }
      index &+= 8
    }
    while index < bytes.count {
      if bytes[index] >= 0x80 { return isUTF8BeyondASCII(bytes[index...]) }
      index &+= 1
    }
    return true
  }

  /// As fast as the standard library's `UTF8Span`, which requires macOS 26.
  private static func isUTF8BeyondASCII(_ bytes: CBORBytes) -> Bool {
    let count = bytes.count
    var index = 0
    while index < count {
      let first = bytes[index]
      if first < 0x80 {
        index &+= 1
        while index &+ 8 <= count, bytes.load(UInt64.self, at: index) & 0x8080_8080_8080_8080 == 0 { index &+= 8 }
        continue
      }
      /// 0 past the end, which continues no sequence.
      @inline(__always)
      func byte(_ offset: Int) -> UInt8 { index &+ offset < count ? bytes[index &+ offset] : 0 }
      let second = byte(1)
      if first < 0xE0 {
        guard first >= 0xC2, second & 0xC0 == 0x80 else { return false }
        index &+= 2
      } else if first < 0xF0 {
        let least: UInt8 = first == 0xE0 ? 0xA0 : 0x80
        let greatest: UInt8 = first == 0xED ? 0x9F : 0xBF
        guard second >= least, second <= greatest, byte(2) & 0xC0 == 0x80 else { return false }
        index &+= 3
      } else {
        let least: UInt8 = first == 0xF0 ? 0x90 : 0x80
        let greatest: UInt8 = first == 0xF4 ? 0x8F : 0xBF
        guard first <= 0xF4, second >= least, second <= greatest, byte(2) & 0xC0 == 0x80, byte(3) & 0xC0 == 0x80
        else { return false }
        index &+= 4
      }
    }
    return true
  }
}
