/// Sets and dictionaries, whose encoding order depends on hashes.
enum CBORUnorderedType {
  /// Items per element: one in a set, two in a dictionary; 0 for other types.
  ///
  /// Compares the generic type's descriptor in the metadata: a conformance lookup takes longer.
  @inline(__always)
  static func stride<T>(of type: T.Type) -> Int {
    guard let description = description(of: type) else { return 0 }
    return description == set ? 1 : description == dictionary ? 2 : 0
  }

  private static let set = description(of: Set<Int>.self)
  private static let dictionary = description(of: [Int: Int].self)

  /// The second word of a structure's metadata, by Swift's ABI; `nil` for other types.
  @inline(__always)
  private static func description<T>(of type: T.Type) -> UInt? {
    let metadata = unsafeBitCast(type, to: UnsafePointer<UInt>.self)
    return metadata[0] == structureKind ? metadata[1] : nil
  }

  private static let structureKind: UInt = 0x200
}
