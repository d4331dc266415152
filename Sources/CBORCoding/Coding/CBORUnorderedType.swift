/// Sets and dictionaries, which encode their elements in the order of hashes.
enum CBORUnorderedType {
  /// How many of the items that a type encodes belong together: one in a set, two in a dictionary; 0 for other types.
  ///
  /// The type's metadata is compared with that of a known set and dictionary, of which it shares the description of the
  /// generic type: a conformance lookup takes thirty times as long.
  @inline(__always)
  static func stride<T>(of type: T.Type) -> Int {
    guard let description = description(of: type) else { return 0 }
    return description == set ? 1 : description == dictionary ? 2 : 0
  }

  private static let set = description(of: Set<Int>.self)
  private static let dictionary = description(of: [Int: Int].self)

  /// The second word of a structure's metadata, by Swift's binary interface; `nil` for other kinds of types.
  @inline(__always)
  private static func description<T>(of type: T.Type) -> UInt? {
    let metadata = unsafeBitCast(type, to: UnsafePointer<UInt>.self)
    return metadata[0] == structureKind ? metadata[1] : nil
  }

  private static let structureKind: UInt = 0x200
}
