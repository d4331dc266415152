#if !canImport(Darwin)
  import Foundation

  /// Validates an archive once before use, without recursion. Time: linear in its length, plus sorting its keys.
  ///
  /// Afterwards every item is whole and in the archiver's only form (definite lengths, shortest heads), text is UTF-8,
  /// no map repeats a text or integer key, and nesting is limited.
  struct ArchiveScan {
    /// Offsets of the tags for shared values; most archives have none.
    private(set) var sharedOffsets: ContiguousArray<Int> = []

    private struct Container {
      /// Items left, counting keys and values separately.
      var left: Int
      /// Map only: the index of its first key in the list of keys; -1 for an array.
      let firstKey: Int
    }

    /// An object takes two levels of CBOR: the array with its name and the map of its fields.
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

    private mutating func key() throws(CBORError) {
      let start = reader.offset
      let initial = try reader.peekHead()
      switch initial.major {
      case .text, .unsigned: keys.append(start)
      default: break
      }
      try item()
    }

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
    /// Skips items that a scan has checked.
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
