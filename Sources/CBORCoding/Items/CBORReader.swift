/// A bounds-checked cursor over encoded data items.
///
/// It reads any well-formed CBOR, not only the deterministic form, without trusting it: lengths are checked against the
/// remaining input first, and nothing recurses. After an error the cursor's position is undefined: move to a known
/// offset or stop. Bytes are borrowed: the reader and the buffers it returns are valid as long as they are.
struct CBORReader {
  let bytes: UnsafeRawBufferPointer
  /// The nesting limit of ``skip()``.
  let maximumDepth: Int
  /// The offset of the next read; set it with ``move(to:)``, which checks it.
  private(set) var offset: Int

  init(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0, maximumDepth: Int = 512) {
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
    guard let base = bytes.baseAddress, offset < bytes.count else { throw CBORError(.endOfInput, at: offset) }
    let initialByte = base.load(fromByteOffset: offset, as: UInt8.self)
    if initialByte & 0x1F < 24 {
      offset &+= 1
      return CBORHead(initialByte: initialByte, argument: UInt64(initialByte & 0x1F))
    }
    return try readLongHead(initialByte, base)
  }

  private mutating func readLongHead(
    _ initialByte: UInt8, _ base: UnsafeRawPointer
  ) throws(CBORError) -> CBORHead {
    let start = offset
    let argument: UInt64
    switch initialByte & 0x1F {
    case 24:
      guard remaining >= 2 else { throw CBORError(.endOfInput, at: start) }
      argument = UInt64(base.load(fromByteOffset: start + 1, as: UInt8.self))
      if initialByte == 0xF8 && argument < 32 { throw CBORError(.reservedSimpleValue, at: start) }
      offset += 2
    case 25:
      guard remaining >= 3 else { throw CBORError(.endOfInput, at: start) }
      argument = UInt64(UInt16(bigEndian: base.loadUnaligned(fromByteOffset: start + 1, as: UInt16.self)))
      offset += 3
    case 26:
      guard remaining >= 5 else { throw CBORError(.endOfInput, at: start) }
      argument = UInt64(UInt32(bigEndian: base.loadUnaligned(fromByteOffset: start + 1, as: UInt32.self)))
      offset += 5
    case 27:
      guard remaining >= 9 else { throw CBORError(.endOfInput, at: start) }
      argument = UInt64(bigEndian: base.loadUnaligned(fromByteOffset: start + 1, as: UInt64.self))
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
    guard let base = bytes.baseAddress, offset < bytes.count else { throw CBORError(.endOfInput, at: offset) }
    guard base.load(fromByteOffset: offset, as: UInt8.self) == CBORHead.breakByte else { return false }
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
    guard let base = bytes.baseAddress, offset < bytes.count else { throw CBORError(.endOfInput, at: offset) }
    guard base.load(fromByteOffset: offset, as: UInt8.self) >> 5 == CBORMajorType.tag.rawValue else { return nil }
    return try readHead().argument
  }

  mutating func skipTags() throws(CBORError) {
    while try readTag() != nil {}
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

  @inline(__always)
  mutating func rewind(to start: Int) {
    assert(start >= 0 && start <= offset)
    offset = start
  }
}
