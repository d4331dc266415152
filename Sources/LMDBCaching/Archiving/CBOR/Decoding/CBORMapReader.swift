import Foundation

/// Finds the values of a map by their keys.
///
/// Keys that are asked for in the order in which they are stored are found at once, each behind the one before. In a
/// small map the search goes on from there; for a large one an index is made, once, so that every access takes
/// logarithmic time.
final class CBORMapReader {
  // Nil only between two uses, when nobody holds this reader.
  private(set) var session: CBORDecodingSession!
  private(set) var path = CBORCodingPath.root
  /// How many entries.
  private(set) var count = 0
  private var isSorted = false
  /// The first key.
  private var first = CBORPosition.start
  /// The value that was found last; the search begins behind it. Absent: none was.
  private var lastValue = CBORPosition.absent
  /// How many entries there are up to and including the last value.
  private var passed = 0
  private var index: CBORMapIndex?

  /// The largest map that is searched without an index.
  private static let smallCount = 24

  /// Begins with the map at `position`, which is known to be one.
  @inline(__always)
  func begin(_ session: CBORDecodingSession, at position: CBORPosition, path: CBORCodingPath.Reference) {
    var position = position
    self.session = session
    self.path = path
    isSorted = session.tape[Int(position.tape)].isSorted
    count = session.document.enter(&position, session.tape)
    first = position
    lastValue = .absent
    passed = 0
    index = nil
  }

  /// Lets go of everything, for the next use.
  func end() {
    index = nil
    session = nil
  }

  var codingPath: [any CodingKey] { session.path.keys(to: path) }

  // MARK: Search

  /// The position of the value under `key`: by its name, else, among keys that are integers, by its number.
  ///
  /// - Throws: if the document is not there any more.
  @inline(__always)
  func find(_ key: some CodingKey) throws -> CBORPosition? {
    try session.checkOpen()
    let found = withUTF8Bytes(of: key.stringValue) { name in find(name) }
    if found == nil && mayHaveIntegerKeys, let number = key.intValue { return findInteger(number) }
    return found
  }

  /// In order integers come first.
  private var mayHaveIntegerKeys: Bool {
    count > 0 && (!isSorted || session.document.initialByte(first) < CBORMajorType.bytes.rawValue << 5)
  }

  private func find(_ name: UnsafeRawBufferPointer) -> CBORPosition? {
    if let index { return index.value(name) }
    var position = first
    var place = 0
    if !lastValue.isAbsent {
      position = lastValue
      session.skip(&position)
      place = passed
    }
    var left = count
    while left > 0 {
      if place == count {
        position = first
        place = 0
      }
      let isMatch = readKey(&position, equalTo: name)
      place &+= 1
      if isMatch {
        lastValue = position
        passed = place
        return position
      }
      if count > Self.smallCount { return makeIndex().value(name) }
      session.skip(&position)
      left &-= 1
    }
    return nil
  }

  /// Moves past a key, and compares it with a name.
  @inline(__always)
  private func readKey(_ position: inout CBORPosition, equalTo name: UnsafeRawBufferPointer) -> Bool {
    let initialByte = session.document.initialByte(position)
    guard initialByte >> 5 == CBORMajorType.text.rawValue else {
      session.skip(&position)
      return false
    }
    let head = session.document.readHead(&position)
    let key = session.document.readContent(head, &position)
    guard key.count == name.count else { return false }
    guard let a = key.baseAddress, let b = name.baseAddress else { return true }
    return memcmp(a, b, key.count) == 0
  }

  private func findInteger(_ number: Int) -> CBORPosition? {
    if let index { return index.value(number) }
    if count > Self.smallCount { return makeIndex().value(number) }
    var position = first
    for _ in 0..<count {
      let key = position
      session.skip(&position)
      if integerKey(key) == number { return position }
      session.skip(&position)
    }
    return nil
  }

  private func makeIndex() -> CBORMapIndex {
    let made = CBORMapIndex(isSorted: isSorted, capacity: count) { add in
      var position = first
      for _ in 0..<count {
        let key = position
        session.skip(&position)
        if let text = textKey(key) { add(.text(text), position) }
        if let number = integerKey(key) { add(.integer(number), position) }
        session.skip(&position)
      }
    }
    index = made
    return made
  }

  // MARK: Keys

  /// Calls `body` with the keys that are text or integers, in their order.
  ///
  /// - Throws: if the document is not there any more.
  func forEachKey(_ body: (CBORMapIndex.Key) -> Void) throws {
    try session.checkOpen()
    var position = first
    for _ in 0..<count {
      if let text = textKey(position) { body(.text(text)) }
      if let number = integerKey(position) { body(.integer(number)) }
      session.skip(&position)
      session.skip(&position)
    }
  }

  private func textKey(_ position: CBORPosition) -> UnsafeRawBufferPointer? {
    var position = position
    let head = session.document.readHead(&position)
    return head.major == .text ? session.document.readContent(head, &position) : nil
  }

  private func integerKey(_ position: CBORPosition) -> Int? {
    var position = position
    let head = session.document.readHead(&position)
    switch head.major {
    case .unsigned: return Int(exactly: head.argument)
    case .negative: return Int(exactly: head.argument).map { ~$0 }
    default: return nil
    }
  }
}
