#if !canImport(Darwin)
  /// An archiver's reusable memory: allocating it takes longer than archiving a small object.
  final class ArchivingBuffers {
    // Unchecked: no access runs foreign code.
    @exclusivity(unchecked) var writer = CBORWriter(capacity: 512)
    @exclusivity(unchecked) var identities = IdentityTable()
    @exclusivity(unchecked) var references: ContiguousArray<ObjectReference> = []
    @exclusivity(unchecked) var keyOffsets: ContiguousArray<Int> = []
    @exclusivity(unchecked) var path: ContiguousArray<ClassRecord.Reference> = []

    private static let spares = CBORSpares<ArchivingBuffers>(limit: 8)
    /// Larger buffers are freed.
    private static let largestSpare = 64 << 10

    static func take() -> ArchivingBuffers { spares.take() ?? ArchivingBuffers() }

    func giveBack() {
      guard writer.capacity <= Self.largestSpare, keyOffsets.count <= 512, identities.entries.count <= 512 else {
        return
      }
      writer.removeAll()
      identities.removeAll()
      if !references.isEmpty { references.removeAll() }
      keyOffsets.removeAll(keepingCapacity: true)
      path.removeAll(keepingCapacity: true)
      Self.spares.put(self)
    }
  }
#endif
