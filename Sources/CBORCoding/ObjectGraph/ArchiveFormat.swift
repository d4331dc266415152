#if !canImport(Darwin)
  import Foundation

  /// The archive format of NSCoding objects: one CBOR item (RFC 8949), readable by any CBOR tool.
  ///
  /// An archive is a map of the top level's values: under text keys, or under the integers 0, 1, … for values encoded
  /// without a key. A value is one of
  ///
  /// | value | item |
  /// |---|---|
  /// | nil | undefined |
  /// | `NSNull` | null |
  /// | `Bool`, integers, `Float`, `Double`, `NSNumber` | false, true, integer, single or double precision |
  /// | `String`, `NSString` | text |
  /// | bytes, `Data`, `NSData` | byte string |
  /// | `NSArray` | array |
  /// | `NSDictionary` | map, keys of any kind |
  /// | `NSSet` | tag 258 around an array |
  /// | `NSDate` | tag 1 around seconds since 1970 where they are exact, else tag 27 around seconds since 2001 |
  /// | `NSDecimalNumber` | tag 4 |
  /// | `NSURL` | tag 32, with a base tag 27 |
  /// | `NSUUID` | tag 37 |
  /// | everything else | tag 27 around an array of the class's name and contents |
  ///
  /// The contents of other objects are a map of the keys that `encode(with:)` used, in order. Mutable variants of
  /// Foundation's classes also use tag 27, so that they stay mutable.
  ///
  /// A shared value has tag 28, and each reference to it is tag 29 around its number; numbers count the tags 28 from 0.
  /// Only a conditional reference may precede its object.
  ///
  /// Encoding is deterministic: shortest heads, definite lengths, and dictionaries and sets sorted by the encoded bytes
  /// of keys and elements (the first 4 KiB for objects and collections).
  enum ObjectGraph {
    /// The nesting limit of objects and collections, if the thread's stack allows: each level is a call of
    /// `encode(with:)` or `init(coder:)`.
    static let maximumDepth = 512

    /// Shorter immutable strings and data are written each time.
    static let leastSharedLength = 64
  }

  extension CBORTag {
    /// An array of a type's name and its object's contents (registered by Marc Lehmann).
    static let object: UInt64 = 27
    static let shared: UInt64 = 28
    static let reference: UInt64 = 29
    static let set: UInt64 = 258
  }

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

    init(_ bytes: CBORBytes) throws(CBORError) {
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
            guard CBORReader.isUTF8(reader.bytes[reader.offset..<end]) else { throw CBORError(.invalidUTF8, at: start) }
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
      if count > 1, let duplicate = MapKeys(bytes: reader.bytes).duplicate(in: keys, from: container.firstKey) {
        throw CBORError(.duplicateKey, at: duplicate)
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

  /// A map's encoded keys, text or integers with the shortest heads: equal keys have equal bytes.
  struct MapKeys {
    let bytes: CBORBytes

    /// The offset of a repeated key; `nil` if all are unique.
    ///
    /// - Parameter offsets: From `start`, offsets of keys, which are whole.
    @inline(__always)
    func duplicate(in offsets: ContiguousArray<Int>, from start: Int) -> Int? {
      if offsets.count &- start > 16 { return duplicateOfMany(offsets[start...]) }
      for index in start &+ 1..<offsets.count {
        let first = bytes[offsets[index]]
        for earlier in start..<index where bytes[offsets[earlier]] == first {
          if key(offsets[index]).order(key(offsets[earlier])) == 0 { return offsets[index] }
        }
      }
      return nil
    }

    private func duplicateOfMany(_ offsets: ArraySlice<Int>) -> Int? {
      let sorted = offsets.sorted { key($0).order(key($1)) < 0 }
      return zip(sorted, sorted.dropFirst()).first { key($0).order(key($1)) == 0 }?.1
    }

    @inline(__always)
    private func key(_ offset: Int) -> CBORBytes { bytes[offset..<offset + length(at: offset)] }

    @inline(__always)
    private func length(at offset: Int) -> Int {
      let initial = bytes[offset]
      // Fast path: short text, the most common key.
      if initial >= 0x60 && initial < 0x78 { return 1 &+ Int(initial & 0x1F) }
      var reader = CBORReader(bytes, at: offset)
      guard let head = try? reader.readHead() else { return 1 }
      return reader.offset - offset + (head.major == .text ? Int(truncatingIfNeeded: head.argument) : 0)
    }
  }

  /// Describes a value's place in an archive, for messages.
  enum ArchivePath {
    private static let longest = 16

    /// For example "root: Note.author → Person.names → NSArray[2]". The archive must be checked.
    static func description(of offset: Int, in bytes: CBORBytes) -> String {
      var steps: [String] = []
      var reader = CBORReader(bytes)
      var name = ""
      do {
        while reader.offset <= offset, let step = try step(&reader, towards: offset, &name) { steps.append(step) }
      } catch {
        steps.append("…")
      }
      if steps.count > longest {
        let dropped = steps.count - longest
        steps.replaceSubrange(longest / 2..<longest / 2 + dropped, with: ["… \(dropped) more …"])
      }
      return steps.isEmpty ? "the top level" : steps.joined(separator: " → ")
    }

    /// Moves from an item to its part at the offset. Returns `nil` if it has no parts or begins at the offset.
    ///
    /// - Parameter name: The class of the next array or map, if a name was just read.
    private static func step(
      _ reader: inout CBORReader, towards offset: Int, _ name: inout String
    ) throws(CBORError) -> String? {
      let start = reader.offset
      guard start < offset else { return nil }
      var head = try reader.readHead()
      // Tags and an object's name are part of the step to its contents.
      while head.major == .tag {
        guard reader.offset < offset else { return nil }
        if head.argument == CBORTag.object {
          guard try reader.readArrayHead() == 2 else { return nil }
          name = readable(try reader.readText())
        }
        guard reader.offset < offset else { return nil }
        head = try reader.readHead()
      }
      switch head.major {
      case .array:
        let type = name.isEmpty ? "NSArray" : name
        name = ""
        for index in 0..<Int(truncatingIfNeeded: head.argument) {
          let part = reader.offset
          try reader.skipChecked()
          if reader.offset > offset {
            reader.move(to: part)
            return "\(type)[\(index)]"
          }
        }
      case .map:
        let type = name.isEmpty ? (start == 0 ? "" : "NSDictionary") : name
        name = ""
        for _ in 0..<Int(truncatingIfNeeded: head.argument) {
          let key = try keyText(&reader)
          let part = reader.offset
          if part > offset { return "\(type).\(key)" }
          try reader.skipChecked()
          if reader.offset > offset {
            reader.move(to: part)
            return type.isEmpty ? key : "\(type).\(key)"
          }
        }
      default: break
      }
      return nil
    }

    private static func keyText(_ reader: inout CBORReader) throws(CBORError) -> String {
      let start = reader.offset
      let head = try reader.readHead()
      reader.move(to: start)
      switch head.major {
      case .text: return String(try reader.readText().prefix(40))
      case .unsigned:
        try reader.skipChecked()
        return "\(head.argument)"
      default:
        try reader.skipChecked()
        return "(key)"
      }
    }

    private static func readable(_ name: String) -> String { name.utf8.count <= 80 ? name : name.prefix(60) + "…" }
  }
#endif
