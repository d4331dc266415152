#if !canImport(Darwin)
  import Foundation

  /// Checks an archive once, before anything of it is believed: in time proportional to its length, or the length of
  /// its keys times the logarithm of their number, and without recursion.
  ///
  /// After it, every item is whole, in the one form that the archiver writes (definite lengths, shortest heads),
  /// text is UTF-8, no map has a text key or an integer key twice, and nothing nests too deep.
  struct ArchiveScan {
    /// Where the tags for shared values are; most archives have none.
    private(set) var sharedOffsets: ContiguousArray<Int> = []

    /// An array or a map around the next item.
    private struct Container {
      /// Items left in it, keys and values each counted.
      var left: Int
      /// Of a map: the first of its keys in the list of keys; -1: no map.
      let firstKey: Int
    }

    /// Two levels of CBOR for an object, the array with its name and the map of its fields.
    private static let maximumDepth = 2 * ObjectGraph.maximumDepth + 2

    private var containers: ContiguousArray<Container> = []
    private var keys: ContiguousArray<Int> = []
    private var reader: CBORReader

    init(_ bytes: UnsafeRawBufferPointer) throws(CBORError) {
      reader = CBORReader(bytes)
      containers.reserveCapacity(16)
      try scan()
    }

    private mutating func scan() throws(CBORError) {
      try item()
      while let container = containers.last {
        if container.left == 0 {
          try end(container)
          continue
        }
        containers[containers.count - 1].left &-= 1
        if container.firstKey >= 0, container.left & 1 == 0 { try key() } else { try item() }
      }
      try reader.finish()
    }

    /// Reads the head of a key, and what is in it.
    private mutating func key() throws(CBORError) {
      let start = reader.offset
      let initial = try reader.peekHead()
      switch initial.major {
      case .text, .unsigned: keys.append(start)
      default: break
      }
      try item()
    }

    /// Reads the tags, the head and the text or bytes of the next item.
    private mutating func item() throws(CBORError) {
      while true {
        let start = reader.offset
        let head = try reader.readHead()
        if head.information == CBORHead.indefinite { throw CBORError(.unexpectedItem, at: start) }
        if head.major != .simple, reader.offset &- start != CBORWriter.headLength(head.argument) {
          throw CBORError(.unexpectedItem, at: start)
        }
        switch head.major {
        case .unsigned, .negative, .simple: return
        case .bytes, .text:
          guard head.argument <= UInt64(reader.remaining) else { throw CBORError(.lengthOverInput, at: start) }
          let count = Int(truncatingIfNeeded: head.argument)
          if head.major == .text {
            let end = reader.offset &+ count
            guard CBORReader.isUTF8(UnsafeRawBufferPointer(rebasing: reader.bytes[reader.offset..<end])) else {
              throw CBORError(.invalidUTF8, at: start)
            }
          }
          return reader.advance(count)
        case .array:
          return try begin(head.argument, perItem: 1, firstKey: -1, start)
        case .map:
          return try begin(head.argument, perItem: 2, firstKey: keys.count, start)
        case .tag:
          if head.argument == CBORTag.shared { sharedOffsets.append(start) }
        }
      }
    }

    private mutating func begin(_ count: UInt64, perItem: Int, firstKey: Int, _ start: Int) throws(CBORError) {
      guard count <= UInt64(reader.remaining / perItem) else { throw CBORError(.lengthOverInput, at: start) }
      guard containers.count < Self.maximumDepth else { throw CBORError(.tooDeep, at: start) }
      containers.append(Container(left: Int(truncatingIfNeeded: count) &* perItem, firstKey: firstKey))
    }

    private mutating func end(_ container: Container) throws(CBORError) {
      containers.removeLast()
      guard container.firstKey >= 0 else { return }
      let count = keys.count &- container.firstKey
      if count > 1 {
        let duplicate = keys.withUnsafeBufferPointer { keys in
          MapKeys(reader.bytes, UnsafeBufferPointer(rebasing: keys[container.firstKey...])).duplicate
        }
        if let duplicate { throw CBORError(.duplicateKey, at: duplicate) }
      }
      keys.removeLast(count)
    }
  }

  extension CBORReader {
    /// Moves past items that a scan has checked.
    mutating func skipChecked(_ count: Int = 1) throws(CBORError) {
      var left = count
      while left > 0 {
        let head = try readHead()
        switch head.major {
        case .unsigned, .negative, .simple: left &-= 1
        case .bytes, .text:
          guard head.argument <= UInt64(remaining) else { throw CBORError(.lengthOverInput, at: offset) }
          advance(Int(truncatingIfNeeded: head.argument))
          left &-= 1
        case .array: left &+= Int(truncatingIfNeeded: head.argument) &- 1
        case .map: left &+= Int(truncatingIfNeeded: head.argument) &* 2 &- 1
        case .tag: break
        }
      }
    }
  }
#endif
