import Foundation

/// Finds a map's values by key: immediately in stored order, otherwise by a search or, in a large map, an index.
struct CBORMapReader: BitwiseCopyable {
  let session: CBORDecodingSession
  let path: CBORCodingPath.Reference
  private let start: CBORPosition
  private let first: CBORPosition
  private let entries: UInt32
  private let isSorted: Bool
  /// Shared by maps of the same depth; belongs to this map while the serials match.
  private let search: CBORCell<CBORMapSearch>
  private let serial: UInt64

  /// The largest map that is searched linearly.
  private static let smallCount = 24

  /// - Throws: `DecodingError` unless there is a map at `position`.
  @inline(__always)
  init(_ session: CBORDecodingSession, at position: CBORPosition, path: CBORCodingPath.Reference) throws {
    var position = position
    try session.requireContainer(.map, [String: Any].self, at: &position, path)
    start = position
    isSorted = session.state.tape[Int(position.tape)].isSorted
    entries = UInt32(truncatingIfNeeded: session.enter(&position))
    first = position
    self.session = session
    self.path = path
    search = session.state.search(depth: session.path.depth(of: path))
    serial = session.state.nextSerial()
  }

  var codingPath: [any CodingKey] { session.keys(to: path) }
  @inline(__always) private var count: Int { Int(entries) }

  // MARK: Search

  /// The position of a key's value: by name, or by number among integer keys.
  ///
  /// - Throws: If the document is gone.
  @inline(__always)
  func find(_ key: some CodingKey) throws -> CBORPosition? {
    try session.checkOpen()
    let found = key.stringValue.withUTF8Bytes { name in find(name) }
    if found == nil && mayHaveIntegerKeys, let number = key.intValue { return findInteger(number) }
    return found
  }

  /// Integer keys sort first.
  private var mayHaveIntegerKeys: Bool {
    count > 0 && (!isSorted || session.document.initialByte(first) < CBORMajorType.bytes.rawValue << 5)
  }

  private func find(_ name: CBORBytes) -> CBORPosition? {
    if search.value.serial != serial { beginSearch() }
    if search.value.hasIndex { return index.names.value(name) }
    var position = first
    var place = 0
    if !search.value.lastValue.isAbsent {
      position = search.value.lastValue
      session.skip(&position)
      place = Int(search.value.passed)
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
        search.value.lastValue = position
        search.value.passed = UInt32(truncatingIfNeeded: place)
        return position
      }
      if count > Self.smallCount {
        search.value.hasIndex = true
        return index.names.value(name)
      }
      session.skip(&position)
      left &-= 1
    }
    return nil
  }

  /// Takes the search over from another map.
  private func beginSearch() {
    let hasIndex = count > Self.smallCount && session.state.indexes[start.offset] != nil
    search.value = CBORMapSearch(serial: serial, hasIndex: hasIndex)
  }

  /// Skips a key and compares it with a name.
  @inline(__always)
  private func readKey(_ position: inout CBORPosition, equalTo name: CBORBytes) -> Bool {
    let initialByte = session.document.initialByte(position)
    guard initialByte >> 5 == CBORMajorType.text.rawValue else {
      session.skip(&position)
      return false
    }
    let head = session.document.readHead(&position)
    let key = session.document.readContent(head, &position)
    return key.order(name) == 0
  }

  private func findInteger(_ number: Int) -> CBORPosition? {
    if count > Self.smallCount { return index.numbers[number] }
    var position = first
    for _ in 0..<count {
      let key = position
      session.skip(&position)
      if integerKey(key) == number { return position }
      session.skip(&position)
    }
    return nil
  }

  /// The map's index, made on first use and kept until the call ends.
  private var index: CBORMapIndex {
    if let index = session.state.indexes[start.offset] { return index }
    let made = CBORMapIndex()
    var position = first
    for _ in 0..<count {
      let key = position
      session.skip(&position)
      if let text = textKey(key) { made.names.append(text, position) }
      if let number = integerKey(key) { made.numbers[number] = position }
      session.skip(&position)
    }
    if !isSorted { made.names.sort() }
    session.state.indexes[start.offset] = made
    return made
  }

  // MARK: Keys

  /// The text and integer keys of a type, in order, and whether there are others.
  ///
  /// - Throws: If the document is gone.
  func keys<Key: CodingKey>(_ type: Key.Type) throws -> (keys: [Key], hasOthers: Bool) {
    try session.checkOpen()
    var position = first
    var keys: [Key] = []
    var hasOthers = false
    for _ in 0..<count {
      if let text = textKey(position) {
        if let key = Key(stringValue: String(utf8: text)) { keys.append(key) }
      } else if let number = integerKey(position) {
        if let key = Key(intValue: number) { keys.append(key) }
      } else {
        hasOthers = true
      }
      session.skip(&position)
      session.skip(&position)
    }
    return (keys, hasOthers)
  }

  private func textKey(_ position: CBORPosition) -> CBORBytes? {
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

struct CBORMapSearch: BitwiseCopyable {
  /// The map's serial; 0 for none.
  var serial: UInt64 = 0
  /// The last found value, where the next search begins, or `.absent`.
  var lastValue = CBORPosition.absent
  /// Entries up to and including the last value.
  var passed: UInt32 = 0
  var hasIndex = false
}

/// Values of a large map, by key.
final class CBORMapIndex {
  /// The keys are in the document.
  var names = KeyIndex<CBORPosition>()
  var numbers: [Int: CBORPosition] = [:]
}
